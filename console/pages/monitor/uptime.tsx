import { useSignal } from '@preact/signals';
import type { Schemas } from '../../client/api.ts';
import { Loaded, type Load } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { formatDay, formatDuration } from '../../parts/time.tsx';
import { UptimeStrip } from '../../parts/uptime-strip.tsx';
import { Figure } from './figure.tsx';
import { count, describeSeconds, formatPercent, sumSeconds, uptimeOf } from './figures.ts';
import { SlaFigures } from './sla.tsx';

type Day = Schemas['UptimeDay'];

/** How long the windows are that have a figure, in UTC days with today. */
const WINDOWS = [
  [1, 'Today'],
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
] as const;

/** Uptime by days, and what it says of the target in the range. */
export function Uptime({
  uptime,
  stats,
  words,
}: {
  uptime: Load<Day[]>;
  stats: Schemas['MonitorStats'] | null;
  words: string;
}) {
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
              <Strip days={days} />
            </>
          )}
        </Loaded>
        {stats !== null && <SlaFigures stats={stats} words={words} />}
      </Card>
    </Section>
  );
}

function Window({ label, days }: { label: string; days: readonly Day[] }) {
  const seconds = sumSeconds(days);
  const percent = uptimeOf(seconds);
  return (
    <Figure
      label={label}
      note={
        percent === null ? 'Nothing known' : seconds.down > 0 ? `${formatDuration(seconds.down)} down` : 'No downtime'
      }
    >
      {percent === null ? '–' : formatPercent(percent)}
    </Figure>
  );
}

/** Ninety days, each described when it is pointed at, with the arrow keys as well. */
function Strip({ days }: { days: readonly Day[] }) {
  const pointed = useSignal<number | null>(null);
  const last = days.length - 1;
  const day = pointed.value === null ? undefined : days[pointed.value];
  const [first] = days;
  if (first === undefined) return null;
  const point = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    pointed.value = Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * days.length)));
  };
  const press = (event: KeyboardEvent) => {
    const at = pointed.value ?? last;
    const moves: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pointed.value = Math.min(last, Math.max(0, to));
  };
  return (
    <div class="mt-4">
      <div
        tabIndex={0}
        role="slider"
        aria-label="The last 90 days"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={pointed.value ?? last}
        aria-valuetext={describeDay(days[pointed.value ?? last] ?? first)}
        class="touch-pan-y rounded-sm"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => (pointed.value = null)}
        onBlur={() => (pointed.value = null)}
        onKeyDown={press}
      >
        <UptimeStrip
          days={{ firstDay: dayOf(first), uptime: days.map(({ uptime_percent: percent }) => percent) }}
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
    </div>
  );
}

function describeDay(day: Day): string {
  const { uptime_percent: percent, seconds, incidents } = day;
  const parts = [
    percent === null ? 'nothing known' : formatPercent(percent),
    describeSeconds(seconds),
    incidents === 0 ? '' : count(incidents, 'incident'),
  ];
  return `${formatDay(dayOf(day))}: ${parts.filter((part) => part !== '').join(' · ')}`;
}

function dayOf({ date }: Day): number {
  return Date.parse(date) / 1000;
}
