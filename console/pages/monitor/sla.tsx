import type { Schemas } from '../../client/api.ts';
import { formatDuration } from '../../parts/time.tsx';
import { Figure } from './figure.tsx';
import { describeSeconds, formatPercent } from './figures.ts';

/** What the range says of the target: kept or missed, what is left of what may be missed, and how fast that goes. */
export function SlaFigures({ stats: { totals }, words }: { stats: Schemas['MonitorStats']; words: string }) {
  const { sla, uptime_percent: percent, seconds } = totals;
  const { target, met, budget, burn_rate: burn } = sla;
  if (target === null)
    return (
      <p class="mt-4 border-t border-line pt-3 text-sm text-soft">
        No target is set. With one (such as 99.9 %) you see here how much downtime is left.
      </p>
    );
  const missed = met === false;
  return (
    <div class="mt-4 border-t border-line pt-3">
      <h3 class="text-[0.8125rem] font-medium">
        Target {target} % <span class="font-normal text-soft">in {words}</span>
      </h3>
      <dl class="mt-2 grid grid-cols-2 gap-x-4 gap-y-3 md:grid-cols-4">
        <Figure
          label={met === null ? 'Not known yet' : missed ? 'Missed' : 'Met'}
          note={describeSeconds(seconds) || 'Up all the time'}
          tone={missed ? 'text-down' : met === true ? 'text-up' : ''}
        >
          {percent === null ? '–' : formatPercent(percent)}
        </Figure>
        <Figure
          label="Error budget left"
          note={budget === null ? 'Nothing counts yet' : `of ${formatDuration(budget.total_seconds)}`}
          tone={budget !== null && budget.left_seconds < 0 ? 'text-down' : ''}
        >
          {budget === null
            ? '–'
            : budget.left_seconds < 0
              ? `− ${formatDuration(-budget.left_seconds)}`
              : formatDuration(budget.left_seconds)}
        </Figure>
        <Burn label="Burn rate, 1 h" rate={burn.hour} />
        <Burn label="Burn rate, 24 h" rate={burn.day} />
      </dl>
      {budget !== null && <Budget used={budget.used_seconds} total={budget.total_seconds} />}
    </div>
  );
}

function Burn({ label, rate }: { label: string; rate: number | null }) {
  const note =
    rate === null
      ? 'Not known'
      : rate > 1
        ? 'Faster than the target allows'
        : rate === 0
          ? 'Nothing used'
          : 'Within what the target allows';
  return (
    <Figure label={label} note={note} tone={rate !== null && rate > 1 ? 'text-down' : ''}>
      {rate === null ? '–' : `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)} ×`}
    </Figure>
  );
}

function Budget({ used, total }: { used: number; total: number }) {
  const share = total === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / total);
  return (
    <div
      class="mt-3 h-2 overflow-hidden rounded-full bg-nothing"
      role="img"
      aria-label={`${Math.round(share * 100)} % of the error budget is used`}
    >
      <span
        class={`block h-full ${share >= 1 ? 'bg-down-fill' : share > 0.75 ? 'bg-degraded-fill' : 'bg-up-fill'}`}
        style={{ width: `${share * 100}%` }}
      />
    </div>
  );
}
