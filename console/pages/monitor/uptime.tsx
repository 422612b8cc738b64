import { useSignal } from '@preact/signals';
import { formatUptime } from '../../../core/statistics/reports/content.ts';
import { judgeSla, sumSeconds } from '../../../core/statistics/sla.ts';
import type { Schemas } from '../../client/shapes.ts';
import { Figure } from '../../parts/facts.tsx';
import { count, describeSeconds } from '../../parts/figures.ts';
import { Loaded, type Load } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { StripLegend } from '../../parts/status.tsx';
import { formatDay, formatDuration } from '../../parts/time.tsx';
import { classesOf, openDay, UptimeStrip } from '../../parts/uptime-strip.tsx';
import { Slo } from './slo.tsx';

type Day = Schemas['UptimeDay'];

/** The windows with a figure, in UTC days including today. */
const WINDOWS = [
  [1, 'Today'],
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
] as const;

/** Uptime by day, and the uptime target in a window of its own. */
export function Uptime({ monitor, uptime }: { monitor: Schemas['Monitor']; uptime: Load<Day[]> }) {
  return (
    <Section title="Uptime">
      <Card>
        <Loaded load={uptime} height="h-40">
          {(days) => (
            <>
              <dl class="grid grid-cols-2 gap-x-4 gap-y-3 md:grid-cols-4">
                {WINDOWS.map(([length, label]) => (
                  <Window key={length} label={label} days={days.slice(-length)} />
                ))}
              </dl>
              <Strip id={monitor.id} days={days} />
            </>
          )}
        </Loaded>
        <Slo monitor={monitor} />
      </Card>
    </Section>
  );
}

function Window({ label, days }: { label: string; days: readonly Day[] }) {
  const seconds = sumSeconds(days.map((day) => day.seconds));
  const percent = judgeSla(seconds, null).uptimePercent;
  return (
    <Figure
      label={label}
      note={percent === null ? 'No data' : seconds.down > 0 ? `${formatDuration(seconds.down)} down` : 'No downtime'}
    >
      {formatUptime(percent, '–')}
    </Figure>
  );
}

/** The last 90 days, each described at the pointer or with the arrow keys; a click or Enter leads to its incidents. */
function Strip({ id, days }: { id: string; days: readonly Day[] }) {
  const pointed = useSignal<number | null>(null);
  const last = days.length - 1;
  const day = pointed.value === null ? undefined : days[pointed.value];
  const [first] = days;
  if (first === undefined) return null;
  const point = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    pointed.value = Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * days.length)));
  };
  const open = (at: number) => {
    const { date = '', incidents = 0 } = days[at] ?? {};
    if (incidents > 0) openDay(id, date);
  };
  const press = (event: KeyboardEvent) => {
    const at = pointed.value ?? last;
    if (event.key === 'Enter') open(at);
    const moves: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pointed.value = Math.min(last, Math.max(0, to));
  };
  const worst = days.map(({ worst_state: state }) => state);
  return (
    <div class="mt-4">
      <div
        tabIndex={0}
        role="slider"
        aria-label="The last 90 days; Enter shows the incidents of a day"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={pointed.value ?? last}
        aria-valuetext={describeDay(days[pointed.value ?? last] ?? first)}
        class={`touch-pan-y rounded-sm ${(day?.incidents ?? 0) > 0 ? 'cursor-pointer' : ''}`}
        onPointerMove={point}
        onPointerDown={point}
        onClick={() => pointed.value !== null && open(pointed.value)}
        onPointerLeave={() => (pointed.value = null)}
        onBlur={() => (pointed.value = null)}
        onKeyDown={press}
      >
        <UptimeStrip
          days={{
            firstDay: dayOf(first),
            uptime: days.map(({ uptime_percent: percent }) => percent),
            worst,
          }}
          class="h-8 w-full"
        />
      </div>
      <div class="mt-1 flex justify-between gap-3 text-xs text-soft">
        {day === undefined ? (
          <>
            <span>{formatDay(dayOf(first))}</span>
            <span>Today</span>
          </>
        ) : (
          <span class="clipped">{describeDay(day)}</span>
        )}
      </div>
      <StripLegend present={classesOf(worst)} />
    </div>
  );
}

function describeDay(day: Day): string {
  const { uptime_percent: percent, seconds, incidents } = day;
  const parts = [
    formatUptime(percent, 'no data'),
    describeSeconds(seconds),
    incidents === 0 ? '' : count(incidents, 'incident'),
  ];
  return `${formatDay(dayOf(day))}: ${parts.filter((part) => part !== '').join(' · ')}`;
}

function dayOf({ date }: Day): number {
  return Date.parse(date) / 1000;
}
