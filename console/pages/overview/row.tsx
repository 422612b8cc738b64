import { useComputed, type ReadonlySignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Incident, Monitor } from '../../client/shapes.ts';
import { StatusMark } from '../../parts/status.tsx';
import { STATUSES } from '../../parts/statuses.ts';
import { formatLatency, Since } from '../../parts/time.tsx';
import { memo, UptimeStrip, type UptimeDays } from '../../parts/uptime-strip.tsx';
import { isWriting } from '../../shell/keys.tsx';
import type { History } from './histories.ts';

const WIDTH = 96;
const HEIGHT = 24;
const MARGIN = 2;

/** A small line chart without axes, from 0 to the maximum; null is a gap. Fewer than two values leave it empty. */
const Sparkline = memo(function Sparkline({
  values,
  label,
  class: className = 'h-6 w-24',
}: {
  values: readonly (number | null)[] | null;
  label: string;
  class?: string;
}) {
  const known = values?.filter((value) => value !== null) ?? [];
  if (values === null || known.length < 2) return <span class={`block ${className}`} />;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      class={`block ${className}`}
      role="img"
      aria-label={label}
    >
      {drawLines(values, Math.max(...known)).map((points) => (
        <polyline
          key={points}
          class="fill-none stroke-soft"
          stroke-width="1.4"
          vector-effect="non-scaling-stroke"
          stroke-linejoin="round"
          stroke-linecap="round"
          points={points}
        />
      ))}
    </svg>
  );
});

/** One line between each two gaps; a single value is a dot. */
function drawLines(values: readonly (number | null)[], highest: number): string[] {
  const stepX = (WIDTH - 2 * MARGIN) / Math.max(1, values.length - 1);
  const lines: string[][] = [[]];
  values.forEach((value, index) => {
    if (value === null) lines.push([]);
    else
      lines
        .at(-1)
        ?.push(
          `${(MARGIN + index * stepX).toFixed(1)} ` +
            `${(HEIGHT - MARGIN - (value / Math.max(highest, 1)) * (HEIGHT - 2 * MARGIN)).toFixed(1)}`,
        );
  });
  return lines.flatMap((points) =>
    points.length === 0 ? [] : [(points.length === 1 ? [...points, ...points] : points).join(' ')],
  );
}

type RowProps = {
  monitor: Monitor;
  incident: Incident | undefined;
  history: ReadonlySignal<History | null>;
  isAtCursor: boolean;
  onFocus: () => void;
};

/** The height of a row in pixels, on a phone and elsewhere. */
export const ROW_HEIGHT = { narrow: 74, wide: 54 } as const;

const TINTS: Partial<Record<Monitor['status'], string>> = { down: 'bg-down-tint', degraded: 'bg-degraded-tint' };

/** One monitor of the overview: status, reason, uptime and response time. */
export function MonitorRow({ monitor, incident, history, isAtCursor, onFocus }: RowProps) {
  const link = useRef<HTMLAnchorElement>(null);
  useLayoutEffect(() => {
    // Never take the focus from a text field.
    if (isAtCursor && !isWriting(document.activeElement)) link.current?.focus({ preventScroll: true });
  }, [isAtCursor]);
  const days = useComputed<UptimeDays | null>(
    () => history.value && { firstDay: history.value.first_day, uptime: history.value.daily_uptime },
  );
  const { daily_uptime: _, ...past } = history.value ?? {
    daily_uptime: null,
    uptime_percent: null,
    hourly_latency_ms: null,
  };
  return (
    <a
      ref={link}
      href={`/monitors/${monitor.id}`}
      onFocus={onFocus}
      class={
        'row-grid grid h-full items-center border-b border-line px-4 text-ink hover:bg-hover ' +
        `focus-visible:-outline-offset-2 md:px-3 ${TINTS[monitor.status] ?? ''}`
      }
    >
      <StatusMark status={monitor.status} class="row-mark size-3.5" />
      <span class="row-name min-w-0">
        <span class="clipped block text-sm font-medium leading-5">{monitor.name}</span>
        <span class="clipped block text-xs leading-4 text-soft">
          <RowStatus monitor={monitor} incident={incident} />
        </span>
      </span>
      <UptimeStrip days={days.value} class="row-strip h-4 w-full" />
      <span class="row-uptime text-right text-xs text-soft">
        {past.uptime_percent === null ? '' : formatPercent(past.uptime_percent)}
      </span>
      <Sparkline values={past.hourly_latency_ms} label="Response time of the last day" class="row-spark h-6 w-full" />
      <span class="row-latency text-right text-xs">{lastOf(past.hourly_latency_ms)}</span>
    </a>
  );
}

/** The headings of the columns. */
export function RowHeads() {
  return (
    <div class="row-grid hidden px-3 pt-1.5 text-2xs text-soft md:grid" aria-hidden="true">
      <span class="row-strip">90 days</span>
      <span class="row-uptime text-right">Uptime</span>
      <span class="row-spark">24 hours</span>
      <span class="row-latency text-right">Median</span>
    </div>
  );
}

/** Since when the monitor is in trouble and why; for one that is up, its target. */
function RowStatus({ monitor, incident }: { monitor: Monitor; incident: Incident | undefined }) {
  const { label, text } = STATUSES[monitor.status];
  if (incident !== undefined && (monitor.status === 'down' || monitor.status === 'degraded')) {
    return (
      <>
        <span class={`font-medium ${text}`}>
          {label} for <Since at={incident.started_at} />
        </span>
        {incident.acknowledged_at !== null && ' · acknowledged'} · {incident.reason}
      </>
    );
  }
  const watched = monitor.target === '' ? monitor.type : `${monitor.type} · ${monitor.target}`;
  if (monitor.status === 'up') return <>{watched}</>;
  return (
    <>
      <span class={`font-medium ${text}`}>
        {monitor.status === 'pending' && monitor.target === '' && monitor.type !== 'heartbeat' ? (
          'Draft without a target'
        ) : (
          <>
            {label} for <Since at={monitor.state_since} />
          </>
        )}
      </span>{' '}
      · {watched}
    </>
  );
}

/** Formats a percentage that is never rounded up to 100. */
function formatPercent(percent: number): string {
  return percent === 100 ? '100 %' : `${(Math.floor(percent * 100) / 100).toFixed(2)} %`;
}

function lastOf(latencies: readonly (number | null)[] | null): string {
  const last = latencies?.findLast((value) => value !== null);
  return last === null || last === undefined ? '' : formatLatency(last);
}
