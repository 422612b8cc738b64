import type { ComponentChildren } from 'preact';

/** A labeled value, with the label above it. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="min-w-0">
      <dt class="text-xs text-soft">{name}</dt>
      <dd class="break-words">{children}</dd>
    </div>
  );
}

/** A labeled value as a row of a two-column list; on a phone the label is above it. */
export function FactLine({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt class="text-soft max-md:mt-1 max-md:text-xs">{name}</dt>
      <dd class="min-w-0 whitespace-pre-line break-words">{children}</dd>
    </>
  );
}

type FigureProps = { label: string; tone?: string; note?: string; children: ComponentChildren };

/** A large number with its label above it and, optionally, a note below. */
export function Figure({ label, tone = '', note, children }: FigureProps) {
  return (
    <div>
      <dt class="text-xs text-soft">{label}</dt>
      <dd class={`heading ${note === undefined ? 'text-xl' : 'text-lg leading-6'} ${tone}`}>{children}</dd>
      {note !== undefined && <dd class="text-xs text-soft">{note}</dd>}
    </div>
  );
}

/** Text that a machine reads, such as a header or a path. */
export function Code({ children }: { children: ComponentChildren }) {
  return <code class="break-all font-mono text-[0.8125rem]">{children}</code>;
}
