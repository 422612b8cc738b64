import type { ComponentChildren } from 'preact';
import type { Schemas } from '../client/api.ts';
import { count } from './figures.ts';
import { Icon, type IconName } from './icon.tsx';
import { STATUSES, type Status } from './monitors.ts';
import { clock, formatShort, formatUntil } from './time.tsx';

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

/** The mark of a monitor. An overdue one that was up has the mark of pending, because its status is unknown. */
export function MonitorMark({ status, isOverdue, ...rest }: Parameters<typeof StatusMark>[0] & { isOverdue: boolean }) {
  return <StatusMark {...rest} status={isOverdue && status === 'up' ? 'pending' : status} />;
}

/**
 * Shows since when a monitor was not checked: the time itself, since this browser's clock may be wrong. `lastCheckAt`
 * null: not for days, or never.
 */
export function Unchecked({ lastCheckAt }: { lastCheckAt: number | null | undefined }) {
  return <>{typeof lastCheckAt === 'number' ? `No checks since ${formatShort(lastCheckAt)}` : 'No recent check'}</>;
}

/** Warns that monitors are overdue; `since` is the newest check if no monitor is checked any more. */
export function OverdueWarning({
  overdue,
  since,
  children,
}: {
  overdue: number | undefined;
  since: number | null | undefined;
  children?: ComponentChildren;
}) {
  if (overdue === undefined || overdue === 0) return null;
  const monitors = count(overdue, 'monitor');
  return (
    <p role="status" class="flex items-start gap-2 rounded-md bg-degraded-tint px-3.5 py-2 text-sm text-degraded">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>
        <span class="font-medium">
          {typeof since === 'number'
            ? `No checks since ${formatShort(since)}: ${monitors} overdue.`
            : `${monitors} overdue: ${overdue === 1 ? 'its checks do' : 'their checks do'} not run on time.`}
        </span>{' '}
        The status shown may be out of date. {children}
      </span>
    </p>
  );
}

type Quiet = { what: string; icon: IconName; until: number | undefined; class?: string };

/** A notice that alerts wait until a moment, such as those of a muted monitor; nothing once it has passed. */
export function QuietUntil({ what, icon, until = 0, class: className = 'mb-4 rounded-md bg-sunken px-3 py-2' }: Quiet) {
  if (until <= clock.value) return null;
  return (
    <p role="status" class={`flex gap-2 text-sm ${className}`}>
      <Icon name={icon} class="mt-0.5 size-4 text-pending" />
      <span class="min-w-0 font-medium wrap-anywhere">
        {what} until {formatUntil(until)}
      </span>
    </p>
  );
}

/** Meanings of the colors of a strip. */
const MEANINGS = {
  up: { label: 'Up', fill: 'bg-up-fill' },
  degraded: { label: 'Degraded', fill: 'bg-degraded-fill' },
  down: { label: 'Down', fill: 'bg-down-fill' },
  none: { label: 'No data/paused/maintenance', fill: 'hatched' },
  absent: { label: 'Not created yet', fill: 'bg-nothing' },
} as const;

/** Names each color of a strip. */
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
