import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';

/** Said so long that it was copied, in milliseconds. */
const SAID_MS = 2000;

/** Several lines of code with their heading, and a button that copies them. */
export function CodeBlock({ title, label, text }: { title: string; label: string; text: string }) {
  const box = useRef<HTMLPreElement>(null);
  const isCopied = useSignal(false);
  const copy = async () => {
    // Without https there is no clipboard: then it is marked, to be copied by hand.
    if (!window.isSecureContext) return box.current === null ? undefined : window.getSelection()?.selectAllChildren(box.current);
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, SAID_MS);
  };
  return (
    <div class="min-w-0">
      <div class="flex items-end justify-between gap-2 pb-1">
        <h4 class="text-xs font-medium text-soft">{title}</h4>
        <Button size="small" tone="quiet" icon={isCopied.value ? 'check' : 'copy'} onClick={() => void copy()} class="-my-1">
          {isCopied.value ? 'Copied' : 'Copy'}
        </Button>
      </div>
      <pre ref={box} tabIndex={0} role="group" aria-label={label} class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5">
        {text}
      </pre>
    </div>
  );
}
