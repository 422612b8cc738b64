import type { ComponentChildren } from 'preact';

const TONES = {
  plain: 'bg-sunken text-soft',
  good: 'bg-accent-tint text-accent',
  warning: 'bg-degraded-tint text-degraded',
  bad: 'bg-down-tint text-down',
} as const;

/** A word or two about a thing, beside its name. */
export function Badge({ tone = 'plain', children }: { tone?: keyof typeof TONES; children: ComponentChildren }) {
  return (
    <span class={`inline-block whitespace-nowrap rounded px-1.5 text-xs font-medium leading-5 ${TONES[tone]}`}>
      {children}
    </span>
  );
}
