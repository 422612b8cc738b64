import type { Schemas } from '../../client/api.ts';
import { showTooltip } from '../../parts/tooltip.tsx';
import { dateLabels, frameOf } from './day-frame.tsx';
import { formatPercent } from './percent.ts';

type Day = Schemas['ReportDay'];
type State = NonNullable<Day['worst_state']> | 'absent';

const BAR = 24;
const HEIGHT = 40;

/** A colour, and for those who do not tell colours apart a sign, unless it was simply up. */
const STYLES: Record<State, { fill: string; sign: string; meaning: string; ink: string }> = {
  up: { fill: 'fill-up-soft', sign: '', meaning: 'up', ink: '' },
  degraded: { fill: 'fill-degraded-fill', sign: '~', meaning: 'degraded for some of the day', ink: 'fill-[#171b1f]' },
  down: { fill: 'fill-down-fill', sign: '×', meaning: 'down for some of the day', ink: 'fill-[#fff]' },
  unknown: { fill: 'fill-pending-fill', sign: '?', meaning: 'unknown for some of the day', ink: 'fill-[#171b1f]' },
  pending: { fill: 'fill-pending-fill', sign: '…', meaning: 'pending', ink: 'fill-[#171b1f]' },
  paused: { fill: 'fill-paused-fill', sign: '‖', meaning: 'paused', ink: 'fill-ink' },
  absent: { fill: 'fill-nothing', sign: '', meaning: 'not there yet', ink: '' },
};

const LEGEND: readonly State[] = ['up', 'degraded', 'down', 'unknown', 'paused', 'absent'];

/** A bar for each day, in the colour of its worst state. */
export function DayStrip({ days, isWide }: { days: readonly Day[]; isWide: boolean }) {
  const { width, left, step } = frameOf(days.length, isWide);
  const bad = days.filter(({ worst_state: state }) => state === 'down').length;
  const told = bad === 0 ? 'no day with downtime' : `${bad} of ${days.length} days with downtime`;
  return (
    <svg
      viewBox={`0 0 ${width} ${HEIGHT}`}
      class="block h-auto w-full"
      role="img"
      aria-label={`Uptime by day: ${told}`}
      onPointerLeave={() => showTooltip(null)}
    >
      {days.map((day, index) => {
        const { fill, sign, ink } = STYLES[day.worst_state ?? 'absent'];
        const x = left + index * step;
        return (
          <g key={day.date} onPointerMove={(event) => event.pointerType !== 'touch' && showDay(day, event)}>
            <rect class={fill} x={x + 1} y={0} width={Math.max(1, step - 2)} height={BAR} rx={2} />
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

/** What the bars say. */
export function StripLegend() {
  return (
    <ul class="mb-3 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {LEGEND.map((state) => (
        <li key={state} class="flex items-center gap-1.5">
          <svg viewBox="0 0 14 14" class="size-3.5" aria-hidden="true">
            <rect class={STYLES[state].fill} width={14} height={14} rx={2} />
            <text class={`text-[11px] font-semibold ${STYLES[state].ink}`} x={7} y={11} text-anchor="middle">
              {STYLES[state].sign}
            </text>
          </svg>
          {STYLES[state].meaning}
        </li>
      ))}
    </ul>
  );
}

function showDay(
  { date, uptime_percent: percent, worst_state: state }: Day,
  { currentTarget }: { currentTarget: SVGElement },
): void {
  const { left, width, top } = currentTarget.getBoundingClientRect();
  showTooltip({
    x: left + width / 2,
    y: top,
    text:
      `${date}: ${percent === null ? 'no time counted' : formatPercent(percent)}, ` +
      `${STYLES[state ?? 'absent'].meaning}`,
  });
}
