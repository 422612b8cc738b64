import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { formatPercent, formatUptime } from '../../../core/statistics/reports/content.ts';
import {
  DAYS,
  PERCENTILES,
  hatchBar,
  isDated,
  layOutNames,
  piecesOf,
  scaleOf,
  type DayBar,
} from '../../../core/statistics/reports/page.ts';
import type { Schemas } from '../../client/api.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { count, describeHours, formatBudget, formatNumber } from '../../parts/figures.ts';
import { Card, Section, useWide } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import {
  formatDateTime,
  formatDay,
  formatDuration,
  formatLatency,
  formatMoment,
  formatShort,
} from '../../parts/time.tsx';
import { showTooltip } from '../../parts/tooltip.tsx';

type Day = Schemas['ReportDay'];
type State = NonNullable<Day['worst_state']> | 'absent';

const BAR = 24;
const HEIGHT = 40;

/** Colors of days that do not count: lines are drawn over them. */
const HATCHED = { fill: 'fill-nothing', ink: 'fill-ink' };

const STYLES: Record<State, { fill: string; ink: string }> = {
  up: { fill: 'fill-up-soft', ink: '' },
  degraded: { fill: 'fill-degraded-fill', ink: 'fill-[#171b1f]' },
  down: { fill: 'fill-down-fill', ink: 'fill-[#fff]' },
  unknown: HATCHED,
  pending: HATCHED,
  paused: HATCHED,
  maintenance: HATCHED,
  absent: { fill: 'fill-nothing', ink: '' },
};

const LEGEND: readonly State[] = ['up', 'degraded', 'down', 'unknown', 'paused', 'maintenance', 'absent'];

/** A bar for each day, in the color of its worst state. */
function DayStrip({ days, isWide }: { days: readonly Day[]; isWide: boolean }) {
  const { width, left, step } = frameOf(days.length, isWide);
  const bad = days.filter(({ worst_state: state }) => state === 'down').length;
  const summary = bad === 0 ? 'no downtime' : `${bad} of ${days.length} days with downtime`;
  return (
    <svg
      viewBox={`0 0 ${width} ${HEIGHT}`}
      class="block h-auto w-full"
      role="img"
      aria-label={`Uptime by day: ${summary}`}
      onPointerLeave={() => showTooltip(null)}
    >
      {days.map((day, index) => {
        const state = day.worst_state ?? 'absent';
        const { fill, ink } = STYLES[state];
        const { sign } = DAYS[state];
        const x = left + index * step;
        const bar = { x: x + 1, width: Math.max(1, step - 2), height: BAR };
        return (
          <g key={day.date} onPointerMove={(event) => event.pointerType !== 'touch' && showDay(day, event)}>
            <rect class={fill} rx={2} {...bar} />
            <Hatch state={state} {...bar} />
            {sign !== '' && (
              <text
                class={`pointer-events-none text-[11px] font-semibold ${ink}`}
                x={x + step / 2}
                y={BAR / 2 + 4}
                text-anchor="middle"
              >
                {sign}
              </text>
            )}
          </g>
        );
      })}
      {dateLabels(days, { isWide, y: HEIGHT - 4 })}
    </svg>
  );
}

/** The legend of the bars. */
function StripLegend() {
  return (
    <ul class="mb-3 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {LEGEND.map((state) => (
        <li key={state} class="flex items-center gap-1.5">
          <svg viewBox="0 0 14 14" class="size-3.5" aria-hidden="true">
            <rect class={STYLES[state].fill} width={14} height={14} rx={2} />
            <Hatch state={state} x={0} width={14} height={14} />
            <text class={`text-[11px] font-semibold ${STYLES[state].ink}`} x={7} y={11} text-anchor="middle">
              {DAYS[state].sign}
            </text>
          </svg>
          {DAYS[state].meaning}
        </li>
      ))}
    </ul>
  );
}

function Hatch(bar: DayBar) {
  const lines = hatchBar(bar);
  return lines === '' ? null : <path class="pointer-events-none stroke-unknown" stroke-width={1.5} d={lines} />;
}

function showDay(
  { date, uptime_percent: percent, worst_state: state }: Day,
  { currentTarget }: { currentTarget: SVGElement },
): void {
  const { left, width, top } = currentTarget.getBoundingClientRect();
  const { meaning } = DAYS[state ?? 'absent'];
  showTooltip({
    anchor: currentTarget,
    x: left + width / 2,
    y: top,
    text: `${formatDay(Date.parse(date) / 1000)}: ${formatUptime(percent, 'no data')}, ${meaning}`,
  });
}

type Monitor = Schemas['ReportMonitor'];
type Incident = Schemas['ReportIncident'];

/** Number of further monitors that each click shows: thousands of plots would be too many. */
const STEP = 25;
/** Most incidents per monitor that are shown; the rest are in the monitor's own list. */
const INCIDENTS = 8;

/** Each monitor with its days, response times and incidents, the worst first. */
export function MonitorParts({
  monitors,
  incidents,
}: {
  monitors: readonly Monitor[];
  incidents: readonly Incident[];
}) {
  const wanted = useSignal(STEP);
  const filter = useSignal('');
  const byMonitor = useMemo(() => Map.groupBy(incidents, ({ monitor_id: id }) => id), [incidents]);
  const sorted = useMemo(
    () =>
      monitors.toSorted(
        (a, b) =>
          b.down_seconds - a.down_seconds || b.degraded_seconds - a.degraded_seconds || a.name.localeCompare(b.name),
      ),
    [monitors],
  );
  if (monitors.every(({ days }) => days === undefined || days.length === 0)) return null;
  const text = filter.value.trim().toLowerCase();
  const found = text === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(text));
  return (
    <Section
      title="Day by day"
      lead="Sorted by downtime."
      actions={
        monitors.length > 5 && (
          <TextField
            label="Search monitors"
            hideLabel
            placeholder="Search monitors"
            value={filter.value}
            onValue={(value) => (filter.value = value)}
            class="w-full md:w-56"
          />
        )
      }
    >
      <StripLegend />
      <div class="grid grid-cols-1 gap-3">
        {found.slice(0, wanted.value).map((monitor) => (
          <MonitorPart key={monitor.id} monitor={monitor} incidents={byMonitor.get(monitor.id) ?? []} />
        ))}
      </div>
      {found.length === 0 && <p class="py-6 text-center text-sm text-soft">No monitors match your search.</p>}
      {found.length > wanted.value && (
        <div class="mt-4 text-center">
          <Button onClick={() => (wanted.value += STEP)}>
            Show more ({formatNumber(found.length - wanted.value)} left)
          </Button>
        </div>
      )}
    </Section>
  );
}

function MonitorPart({ monitor, incidents }: { monitor: Monitor; incidents: readonly Incident[] }) {
  const isWide = useWide();
  const {
    id,
    name,
    days = [],
    uptime_percent: percent,
    sla_met: met,
    sla_target: target,
    checks,
    service_hours: service = null,
  } = monitor;
  return (
    <Card class="p-4">
      <div class="mb-2 flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <h3 class="min-w-0 break-words text-sm font-medium">
          <a href={`/monitors/${id}`} class="hover:underline">
            {name}
          </a>
        </h3>
        <span class="text-sm">{formatUptime(percent, 'No data')}</span>
        {met !== null && (
          <Badge tone={met ? 'good' : 'bad'}>{`SLO ${formatPercent(target, '')} ${met ? 'met' : 'missed'}`}</Badge>
        )}
        {service !== null && <ServiceVerdict service={service} />}
        <span class="text-xs text-soft md:ml-auto">{checks === 0 ? 'No checks' : count(checks, 'check')}</span>
      </div>
      <DayStrip days={days} isWide={isWide} />
      <LatencyPlot days={days} isWide={isWide} />
      <Incidents incidents={incidents} />
    </Card>
  );
}

/** The service hours, and whether they met their target. */
function ServiceVerdict({ service }: { service: NonNullable<Monitor['service_hours']> }) {
  const { target, met, uptime_percent: percent, budget } = service;
  return (
    <span class="text-[0.8125rem] text-soft">
      {met !== null && (
        <Badge
          tone={met ? 'good' : 'bad'}
        >{`Service hours ${formatPercent(target, '')} ${met ? 'met' : 'missed'}`}</Badge>
      )}{' '}
      {formatUptime(percent, 'No data')} of {describeHours(service)}
      {budget !== null && `, ${formatBudget(budget.left_seconds)} of error budget left`}
    </span>
  );
}

function Incidents({ incidents }: { incidents: readonly Incident[] }) {
  if (incidents.length === 0) return null;
  const rest = incidents.length - INCIDENTS;
  return (
    <ul class="mt-2 border-t border-line pt-2 text-[0.8125rem]">
      {incidents.slice(0, INCIDENTS).map(({ id, state, reason, started_at: start, duration_seconds: seconds }) => (
        <li key={id} class="flex flex-wrap gap-x-3 py-0.5">
          <a
            href={`/incidents/${id}`}
            class={`font-medium hover:underline ${state === 'down' ? 'text-down' : 'text-degraded'}`}
          >
            <time dateTime={new Date(start * 1000).toISOString()} title={formatDateTime(start)}>
              {formatShort(start, 'UTC')} UTC
            </time>
          </a>
          <span class="text-soft">{seconds === null ? 'Ongoing' : formatDuration(seconds)}</span>
          <span class="min-w-0 break-words">{reason}</span>
        </li>
      ))}
      {rest > 0 && <li class="py-0.5 text-soft">and {rest} more</li>}
    </ul>
  );
}

const PLOT = { height: 118, top: 8, bottom: 96, labels: 112 } as const;

const LINES = {
  p50: { stroke: 'stroke-accent', fill: 'fill-accent', dash: '' },
  p95: { stroke: 'stroke-ink', fill: 'fill-ink', dash: '4 2' },
  p99: { stroke: 'stroke-soft', fill: 'fill-soft', dash: '1.5 2' },
} as const satisfies Record<(typeof PERCENTILES)[number], object>;

/** The percentiles of each day as three lines, with gaps for days without any; nothing if no day has one. */
function LatencyPlot({ days, isWide }: { days: readonly Day[]; isWide: boolean }) {
  const scale = scaleOf(days);
  if (scale === null) return null;
  const { width, left, right, step } = frameOf(days.length, isWide);
  const { highestMs, topMs } = scale;
  const yOf = (ms: number) => PLOT.bottom - (ms / topMs) * (PLOT.bottom - PLOT.top);
  const ends = layOutNames(days, { yOf, bottom: PLOT.bottom });
  return (
    <svg
      viewBox={`0 0 ${width} ${PLOT.height}`}
      class="mt-1 block h-auto w-full"
      role="img"
      aria-label={`Response time by day: percentiles up to ${formatLatency(highestMs)}`}
    >
      {[0, topMs / 2, topMs].map((ms) => (
        <g key={ms}>
          <path class="stroke-line" d={`M${left} ${yOf(ms)}H${right}`} />
          <text class="fill-soft text-[10px]" x={left - 5} y={yOf(ms) + 3} text-anchor="end">
            {formatLatency(ms)}
          </text>
        </g>
      ))}
      {PERCENTILES.map((name) =>
        piecesOf(
          days.map(({ response_ms: ms }, day) =>
            ms[name] === null ? null : { x: left + (day + 0.5) * step, y: yOf(ms[name]) },
          ),
        ).map((piece) =>
          piece.length === 1 && piece[0] !== undefined ? (
            <circle key={`${name}${piece[0].x}`} class={LINES[name].fill} cx={piece[0].x} cy={piece[0].y} r={2} />
          ) : (
            <polyline
              key={`${name}${piece[0]?.x}`}
              class={LINES[name].stroke}
              fill="none"
              stroke-width={1.5}
              stroke-linejoin="round"
              stroke-dasharray={LINES[name].dash}
              points={piece.map(({ x, y }) => `${x},${y}`).join(' ')}
            />
          ),
        ),
      )}
      {ends.map(({ name, y }) => (
        <text key={name} class={`text-[10px] ${LINES[name].fill}`} x={right + 5} y={y + 3}>
          {name}
        </text>
      ))}
      {dateLabels(days, { isWide, y: PLOT.labels })}
    </svg>
  );
}

/** Layout of a plot's days, in units of its view box (about a pixel each). */
type DayFrame = { width: number; left: number; right: number; step: number };

const WIDE = { width: 880, left: 52, right: 846 } as const;
const NARROW = { width: 310, left: 44, right: 286 } as const;

/** Returns the layout that the bars and the lines below them share, so that a day is one column. */
function frameOf(days: number, isWide: boolean): DayFrame {
  const frame = isWide ? WIDE : NARROW;
  return { ...frame, step: (frame.right - frame.left) / Math.max(1, days) };
}

/** Returns labels for every day of a week, or for the first day of each week of a month. */
function dateLabels(days: readonly { date: string }[], { isWide, y }: { isWide: boolean; y: number }) {
  const { left, step } = frameOf(days.length, isWide);
  return days.map(({ date }, day) =>
    isDated(day, days.length) ? (
      <text key={date} class="fill-soft text-[10px]" x={left + (day + 0.5) * step} y={y} text-anchor="middle">
        {formatMoment('monthDay', Date.parse(date) / 1000, 'UTC')}
      </text>
    ) : null,
  );
}
