import type { ComponentChildren } from 'preact';
import type { Schemas } from '../client/shapes.ts';
import { STATUSES, type Status } from './statuses.ts';

/** The mark of a status; unless `silent`, screen readers announce its name. */
export function StatusMark({
  status,
  silent = false,
  class: className = 'size-3.5',
}: {
  status: Status;
  silent?: boolean;
  class?: string;
}) {
  const { label, fill, sign } = STATUSES[status];
  return (
    <svg
      viewBox="0 0 16 16"
      class={`shrink-0 ${fill} ${className}`}
      fill="currentColor"
      fill-rule="evenodd"
      {...(silent ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      <path d={sign} />
    </svg>
  );
}

/** What the colors of a strip mean. */
const MEANINGS = {
  up: { label: 'Up', fill: 'bg-up-fill' },
  degraded: { label: 'Degraded', fill: 'bg-degraded-fill' },
  down: { label: 'Down', fill: 'bg-down-fill' },
  none: { label: 'No data/paused', fill: 'hatched' },
  absent: { label: 'Not created yet', fill: 'bg-nothing' },
} as const;

/** Names each color that a strip has. */
export function StripLegend({ present }: { present: ReadonlySet<keyof typeof MEANINGS> }) {
  return (
    <ul aria-label="Legend" class="mt-1.5 flex flex-wrap gap-x-2 text-2xs text-soft [print-color-adjust:exact]">
      {Object.entries(MEANINGS).map(
        ([name, { label, fill }]) =>
          present.has(name as keyof typeof MEANINGS) && (
            <li key={name} class="flex items-center gap-1">
              <span class={`size-2 rounded-xs ${fill}`} />
              {label}
            </li>
          ),
      )}
    </ul>
  );
}

const TONES = {
  plain: 'bg-sunken text-soft',
  good: 'bg-accent-tint text-accent',
  warning: 'bg-degraded-tint text-degraded',
  bad: 'bg-down-tint text-down',
} as const;

/** A short label beside a name. */
export function Badge({ tone = 'plain', children }: { tone?: keyof typeof TONES; children: ComponentChildren }) {
  return (
    <span class={`inline-block whitespace-nowrap rounded px-1.5 text-xs font-medium leading-5 ${TONES[tone]}`}>
      {children}
    </span>
  );
}

type Verdict = Schemas['Vote'];

/** Labels of verdicts. */
export const VERDICTS: Record<Verdict, string> = { up: 'Up', degraded: 'Degraded', down: 'Down', none: 'Inconclusive' };

/** The mark of a verdict; an inconclusive one has the mark of pending. */
export function VerdictMark({ verdict, class: className = 'mt-1 size-3' }: { verdict: Verdict; class?: string }) {
  return (
    <span class="inline-flex" title={VERDICTS[verdict]}>
      <span class="sr-only">{VERDICTS[verdict]}</span>
      <StatusMark status={verdict === 'none' ? 'pending' : verdict} silent class={className} />
    </span>
  );
}
