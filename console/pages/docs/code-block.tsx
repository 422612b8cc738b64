import { CopyButton, useCopy } from '../../parts/copy.tsx';

/** Several lines of code with their heading, and a button that copies them. */
export function CodeBlock({ title, label, text }: { title: string; label: string; text: string }) {
  const copying = useCopy<HTMLPreElement>(text);
  return (
    <div class="min-w-0">
      <div class="flex items-end justify-between gap-2 pb-1">
        <h4 class="text-xs font-medium text-soft">{title}</h4>
        <CopyButton copying={copying} size="small" tone="quiet" class="-my-1" />
      </div>
      <pre
        ref={copying.box}
        tabIndex={0}
        role="group"
        aria-label={label}
        class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5"
      >
        {text}
      </pre>
    </div>
  );
}
