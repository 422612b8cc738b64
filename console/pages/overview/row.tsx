import { useComputed, type ReadonlySignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Incident, Monitor } from '../../client/api.ts';
import { count } from '../../parts/figures.ts';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { STATUSES, nameDraft } from '../../parts/monitors.ts';
import { MonitorMark, Unchecked } from '../../parts/status.tsx';
import { Moment, Since, clock, formatLatency, formatUntil } from '../../parts/time.tsx';
import { UptimeStrip, memo, type UptimeDays } from '../../parts/uptime-strip.tsx';
import { isWriting } from '../../shell/keys.tsx';
import { pick, picked } from './bulk-steps.ts';
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

/** Returns one line between each two gaps; a single value is a dot. */
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
  /** Used until the row's history is loaded, which has newer data. */
  isOverdue: boolean;
  isDense: boolean;
  isAtCursor: boolean;
  /** Number of surrounding folders. */
  depth: number;
  /** Whether it has a checkbox. */
  isSelectable: boolean;
};

const TINTS: Partial<Record<Monitor['status'], string>> = { down: 'bg-down-tint', degraded: 'bg-degraded-tint' };

function isInList(row: Element | null, focused: Element): boolean {
  return row?.closest('ul')?.contains(focused) === true;
}

/** Focuses the main control of the row that the keyboard selects. */
export function useRowFocus<T extends HTMLElement>(isAtCursor: boolean): RefObject<T | null> {
  const control = useRef<T>(null);
  const isMounted = useRef(false);
  useLayoutEffect(() => {
    const { activeElement: focused } = document;
    const wasMounted = isMounted.current;
    isMounted.current = true;
    // The focus must stay in a text field, and on another control of the row.
    if (!isAtCursor || isWriting(focused) || control.current?.closest('li')?.contains(focused) === true) return;
    // A row that appears, as after a filter, must not take the focus from a control outside the list.
    const isBeside = focused !== null && !focused.matches('body, main') && !isInList(control.current, focused);
    if (!wasMounted && isBeside) return;
    control.current?.focus({ preventScroll: true });
  }, [isAtCursor]);
  return control;
}

/** Deepest folder that is indented further than the surrounding one: a phone needs room for names. */
const MAX_INDENTED = 5;

/** Indents a row by its surrounding folders; `style.css` defines the width. */
export function indentOf(depth: number): Record<string, number> | undefined {
  return depth === 0 ? undefined : { '--depth': Math.min(depth, MAX_INDENTED) };
}

/**
 * One monitor of the overview: status, reason, uptime, response time and last check. The list handles its events: a row
 * has no functions of its own.
 */
export const MonitorRow = memo(function MonitorRow({
  monitor,
  incident,
  history,
  isDense,
  isAtCursor,
  depth,
  isSelectable,
  ...row
}: RowProps) {
  const link = useRowFocus<HTMLAnchorElement>(isAtCursor);
  const days = useComputed(() => daysOf(history.value));
  const { value: past } = history;
  const isOverdue = (past?.overdue ?? row.isOverdue) && monitor.status !== 'paused';
  return (
    <>
      {isSelectable && <RowBox id={monitor.id} name={monitor.name} />}
      <a
        ref={link}
        href={`/monitors/${monitor.id}`}
        style={indentOf(depth)}
        class={
          'row-grid row-start h-full scroll-mb-28 items-center border-b border-line pr-4 text-ink hover:bg-hover ' +
          'focus-visible:-outline-offset-2 peer-data-[picked=true]:bg-accent-tint md:pr-3 ' +
          (TINTS[monitor.status] ?? '')
        }
      >
        <MonitorMark status={monitor.status} isOverdue={isOverdue} class="row-mark size-3.5" />
        <span class={`row-name min-w-0 ${isDense ? 'flex items-baseline gap-2.5' : ''}`}>
          <span class={`clipped block text-sm font-medium leading-5 ${isDense ? 'max-w-[60%] shrink-0' : ''}`}>
            {monitor.name}
          </span>
          <span class="flex min-w-0 gap-2 text-xs leading-4 text-soft">
            <span class="clipped">
              {isOverdue && past !== null && (
                <span class="font-medium text-degraded">
                  <Unchecked lastCheckAt={past.last_check_at} /> ·{' '}
                </span>
              )}
              <RowStatus monitor={monitor} incident={incident} lastCheckAt={past?.last_check_at ?? null} />
            </span>
            <Notice what="Maintenance" icon="maintenance" until={monitor.maintenance?.ends_at} hasRoom={!isDense} />
            <Notice what="Muted" icon="mute" until={monitor.muted_until} hasRoom={!isDense} />
          </span>
        </span>
        <UptimeStrip days={days.value} incidentsOf={monitor.id} class="row-strip h-4 w-full" />
        <span class="row-uptime wide-row text-right text-xs text-soft">
          {formatListUptime(past?.uptime_percent ?? null)}
        </span>
        <Sparkline
          values={past?.hourly_latency_ms ?? null}
          label="Response time, last 24 hours"
          class="row-spark wide-row widest-row h-6 w-full"
        />
        <span class="row-latency text-right text-xs">{formatMedian(past?.median_latency_ms ?? null)}</span>
        <span class="row-checked wide-row widest-row clipped text-right text-xs text-soft">
          {isOverdue ? <Overdue /> : typeof past?.last_check_at === 'number' && <Moment at={past.last_check_at} />}
        </span>
      </a>
    </>
  );
});

type NoticeProps = { what: string; icon: IconName; until: number | undefined; hasRoom: boolean };

/** A notice that the monitor is in maintenance or muted, and until when; only an icon if the list is not wide. */
function Notice({ what, icon, until = 0, hasRoom }: NoticeProps) {
  // The row may be older than the end of the maintenance or mute.
  if (until <= clock.value) return null;
  const text = `${what} until ${formatUntil(until)}`;
  const shown = hasRoom ? 'in-data-[layout=wide]:not-sr-only in-data-[layout=widest]:not-sr-only' : '';
  return (
    <span class="shrink-0 font-medium text-pending" title={text}>
      {' '}
      <Icon name={icon} class="inline size-3.5 align-[-2px]" /> <span class={`sr-only ${shown}`}>{text}</span>
    </span>
  );
}

function Overdue() {
  return (
    <span class="inline-flex items-center gap-1 align-middle font-medium text-degraded">
      <Icon name="warning" class="size-3.5" />
      Overdue
    </span>
  );
}

function daysOf(history: History | null): UptimeDays | null {
  return (
    history && {
      firstDay: history.first_day,
      uptime: history.daily_uptime,
      worst: history.daily_worst_state ?? [],
    }
  );
}

type RowStatusProps = { monitor: Monitor; incident: Incident | undefined; lastCheckAt: number | null };

/** The time since a monitor is down or degraded, and the reason; for one that is up, its target. */
function RowStatus({ monitor, incident, lastCheckAt }: RowStatusProps) {
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
        {nameStart(monitor, lastCheckAt) ?? (
          <>
            {label} for <Since at={monitor.state_since} />
          </>
        )}
      </span>{' '}
      · {watched}
    </>
  );
}

/** Describes what a monitor without any status still needs; null for any other. */
function nameStart(monitor: Monitor, lastCheckAt: number | null): string | null {
  const { status, type, state_since: since, created_at: createdAt } = monitor;
  const isUnpinged = status === 'pending' && type === 'heartbeat' && since === createdAt && lastCheckAt === null;
  return isUnpinged ? 'Waiting for the first ping' : nameDraft(monitor);
}

/** Formats a percentage that is never rounded up to 100, with as many decimals in each row. */
export function formatListUptime(percent: number | null): string {
  return percent === null ? '' : `${(Math.floor(percent * 100) / 100).toFixed(2)}%`;
}

function formatMedian(ms: number | null): string {
  return ms === null ? '' : formatLatency(ms);
}

/** The checkbox of a monitor's row. The list handles its clicks, and a change redraws only the box. */
function RowBox({ id, name }: { id: string; name: string }) {
  const isOn = useComputed(() => picked.value.has(id));
  return <Box label={`Select ${name}`} isOn={isOn} />;
}

/** The checkbox of a folder, for all monitors inside. */
export function FolderBox({ ids, name }: { ids: readonly string[]; name: string }) {
  const { isAll, isSome } = useShare(ids);
  return <Box label={`Select ${name}: ${count(ids.length, 'monitor')}`} isOn={isAll} isSome={isSome} />;
}

/** Selects all monitors that match the filters, rendered or not. */
export function AllBox({ ids }: { ids: readonly string[] }) {
  const { isAll, isSome } = useShare(ids);
  return (
    <Box
      label={`Select all that match: ${count(ids.length, 'monitor')}`}
      isOn={isAll}
      isSome={isSome}
      onChange={() => pick(ids, !isAll)}
    />
  );
}

/** Reports whether all of some monitors are selected, or only some of them. */
function useShare(ids: readonly string[]): { isAll: boolean; isSome: boolean } {
  const { value: all } = picked;
  let number = 0;
  if (all.size > 0) for (const id of ids) if (all.has(id)) number += 1;
  const isAll = number > 0 && number === ids.length;
  return { isAll, isSome: number > 0 && !isAll };
}

type BoxProps = { label: string; isOn: boolean | ReadonlySignal<boolean>; isSome?: boolean; onChange?: () => void };

/** A checkbox before a row, with room around it for fingers; the row after it is tinted while it is checked. */
function Box({ label, isOn, isSome = false, onChange }: BoxProps) {
  return (
    <label data-picked={isOn} class="row-box peer grid cursor-pointer select-none place-items-center print:hidden">
      <input
        type="checkbox"
        checked={isOn}
        indeterminate={isSome}
        aria-label={label}
        onChange={onChange}
        class="size-[1.0625rem] cursor-pointer accent-accent"
      />
    </label>
  );
}
