import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { Button } from './button.tsx';

/** Something to take along, such as a command or a token, and a button that copies it. */
export function CopyText({ text, label }: { text: string; label: string }) {
  const isCopied = useSignal(false);
  const box = useRef<HTMLElement>(null);
  const copy = async () => {
    // Without https there is no clipboard: then it is marked, to be copied by hand.
    if (!window.isSecureContext) return box.current === null ? undefined : window.getSelection()?.selectAllChildren(box.current);
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, 2000);
  };
  return (
    <div class="flex items-stretch gap-2">
      <code ref={box} class="min-w-0 flex-1 select-all overflow-x-auto whitespace-pre rounded-md border border-line bg-sunken px-3 py-2 font-mono text-[0.8125rem]" tabIndex={0} aria-label={label}>
        {text}
      </code>
      <Button icon={isCopied.value ? 'check' : 'copy'} onClick={() => void copy()} class="h-auto">
        {isCopied.value ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
