import type { ComponentChildren } from 'preact';

/** Something that is known, below what it is called. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="min-w-0">
      <dt class="text-xs text-soft">{name}</dt>
      <dd class="break-words">{children}</dd>
    </div>
  );
}

/** The same in a line, for lists whose names stand in a column of their own; on a phone below it as well. */
export function FactLine({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt class="text-soft max-md:mt-1 max-md:text-xs">{name}</dt>
      <dd class="min-w-0 whitespace-pre-line break-words">{children}</dd>
    </>
  );
}
