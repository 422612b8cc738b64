import type { ComponentChildren } from 'preact';

/** A number that is read from afar, what it is, and what goes with it. */
export function Figure({
  label,
  note,
  tone = '',
  children,
}: {
  label: string;
  note: string;
  tone?: string;
  children: ComponentChildren;
}) {
  return (
    <div>
      <dt class="text-xs text-soft">{label}</dt>
      <dd class={`heading text-lg leading-6 ${tone}`}>{children}</dd>
      <dd class="text-xs text-soft">{note}</dd>
    </div>
  );
}
