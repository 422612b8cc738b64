import { useSignal } from '@preact/signals';
import { formatPercent, formatUptime } from '../../../core/statistics/reports/content.ts';
import { judgeSla, sumSeconds } from '../../../core/statistics/sla.ts';
import { DAY_SECONDS } from '../../../core/time.ts';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { usePoll } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { Choices } from '../../parts/choice-fields.tsx';
import { count, describeHours, describeSeconds, formatBudget } from '../../parts/figures.ts';
import { Loaded, Placeholder, useLoad, type Load } from '../../parts/load.tsx';
import { Figure } from '../../parts/object-page.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { StripLegend } from '../../parts/status.tsx';
import { formatDay, formatDuration } from '../../parts/time.tsx';
import { UptimeStrip, classesOf, openDay } from '../../parts/uptime-strip.tsx';
import { route, setQuery } from '../../shell/router.ts';

type Day = Schemas['UptimeDay'];

/** The windows with a figure, in UTC days including today. */
const WINDOWS = [
  [1, 'Today'],
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
] as const;

/** Uptime by day, and the uptime target in its own window. */
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

/** The last 90 days, each described at the pointer or with the arrow keys; a click or Enter opens its incidents. */
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

/** Windows of the uptime target, in days, as named in the address. */
const SLO_WINDOWS = [
  { value: '7', label: '7 days' },
  { value: '', label: '30 days' },
  { value: '90', label: '90 days' },
] as const;
const DEFAULT_SLO_DAYS = 30;

/** The interval at which the uptime target is judged again, in milliseconds. */
const SLO_EVERY_MS = 300_000;

/** The uptime targets (SLOs) in their own window, or how to set one. */
function Slo({ monitor }: { monitor: Schemas['Monitor'] }) {
  return monitor.sla_target === null && monitor.sla === null ? (
    <p class="mt-4 border-t border-line pt-3 text-sm text-soft">
      No uptime target (SLO).{canWrite() && ' Set one, such as 99.9%, to track the error budget.'}
    </p>
  ) : (
    <Target monitor={monitor} />
  );
}

/** The uptime targets in a window that the address chooses, independent of the range of the plot. */
function Target({ monitor: { id, status, sla_target: target, sla } }: { monitor: Schemas['Monitor'] }) {
  const { slo = '' } = route.value.query;
  const chosen = SLO_WINDOWS.find(({ value }) => value === slo)?.value ?? '';
  const days = Number(chosen) || DEFAULT_SLO_DAYS;
  const wanted = JSON.stringify([days, target, sla]);
  const load = useLoad(
    async (signal) => {
      const from = serviceSeconds() - days * DAY_SECONDS;
      const query = { from, resolution: 'day' } as const;
      return { of: wanted, ...(await api.get('/monitors/{id}/stats', { path: { id }, query, signal })) };
    },
    [id, status, wanted],
  );
  usePoll(load, true, SLO_EVERY_MS);
  const height = target !== null && sla !== null ? 'h-56' : 'h-24';
  return (
    <div class="mt-4 border-t border-line pt-3">
      <div class="mb-2 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h3 class="text-[0.8125rem] font-medium">
          Uptime target {formatPercent(target, 'in service hours')}{' '}
          <span class="font-normal text-soft">last {count(days, 'day')}</span>
        </h3>
        <Choices
          label="SLO window"
          choices={SLO_WINDOWS}
          value={chosen}
          onValue={(value) => setQuery({ slo: value })}
        />
      </div>
      <Loaded load={load} height={height}>
        {({ of, totals }) =>
          of === wanted ? (
            <>
              {totals.sla.target !== null && <SloFigures totals={totals} />}
              {totals.service_hours !== null && <ServiceFigures service={totals.service_hours} />}
            </>
          ) : (
            <Placeholder class={height} />
          )
        }
      </Loaded>
    </div>
  );
}

/** The uptime target: met or missed, the error budget left, and its burn rate. */
function SloFigures({ totals }: { totals: Schemas['MonitorStats']['totals'] }) {
  const { sla, uptime_percent: percent, seconds } = totals;
  const { met, budget, burn_rate: burn } = sla;
  return (
    <>
      <dl class="grid grid-cols-2 gap-x-4 gap-y-3 md:grid-cols-4">
        <Verdict met={met} percent={percent} seconds={seconds} />
        <BudgetLeft budget={budget} />
        <Burn label="Burn rate (1 h)" rate={burn.hour} />
        <Burn label="Burn rate (24 h)" rate={burn.day} />
      </dl>
      {budget !== null && <Budget used={budget.used_seconds} total={budget.total_seconds} />}
    </>
  );
}

/** The same figures for the service hours, which have their own target. */
function ServiceFigures({ service }: { service: Schemas['ServiceFigures'] }) {
  const { target, met, budget, uptime_percent: percent, seconds, exclude_maintenance: excludes } = service;
  return (
    <div class="[:not(:first-child)]:mt-4">
      <h4 class="mb-2 text-[0.8125rem] font-medium">
        Service hours {formatPercent(target, '')}{' '}
        <span class="font-normal text-soft">
          {describeHours(service)}, maintenance {excludes ? 'left out' : 'counted'}
        </span>
      </h4>
      <dl class="grid grid-cols-2 gap-x-4 gap-y-3 md:grid-cols-4">
        <Verdict met={met} percent={percent} seconds={seconds} />
        <BudgetLeft budget={budget} />
      </dl>
      {budget !== null && <Budget used={budget.used_seconds} total={budget.total_seconds} />}
    </div>
  );
}

function Verdict({
  met,
  percent,
  seconds,
}: {
  met: boolean | null;
  percent: number | null;
  seconds: Schemas['SecondsByState'];
}) {
  return (
    <Figure
      label={met === null ? 'No data' : met ? 'Met' : 'Missed'}
      note={describeSeconds(seconds) || 'No downtime'}
      tone={met === null ? '' : met ? 'text-up' : 'text-down'}
    >
      {formatUptime(percent, '–')}
    </Figure>
  );
}

function BudgetLeft({ budget }: { budget: Schemas['ErrorBudget'] }) {
  return (
    <Figure
      label="Error budget left"
      note={budget === null ? 'No data' : `of ${formatDuration(budget.total_seconds)}`}
      tone={budget !== null && budget.left_seconds < 0 ? 'text-down' : ''}
    >
      {formatBudget(budget?.left_seconds ?? null)}
    </Figure>
  );
}

function Burn({ label, rate }: { label: string; rate: number | null }) {
  const note = rate === null ? 'No data' : rate > 1 ? 'Above target' : rate === 0 ? 'No budget used' : 'Within target';
  return (
    <Figure label={label} note={note} tone={rate !== null && rate > 1 ? 'text-down' : ''}>
      {rate === null ? '–' : `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}×`}
    </Figure>
  );
}

/** Share of the error budget from which a target is at risk. */
const AT_RISK = 0.75;

/** The used share of the error budget as a bar, and the meaning of its color in words. */
function Budget({ used, total }: { used: number; total: number }) {
  const share = total === 0 ? (used > 0 ? 1 : 0) : used / total;
  const isSpent = share >= 1;
  const isAtRisk = share > AT_RISK;
  return (
    <>
      <div class="mt-3 h-2 overflow-hidden rounded-full bg-nothing" aria-hidden="true">
        <span
          class={`block h-full ${isSpent ? 'bg-down-fill' : isAtRisk ? 'bg-degraded-fill' : 'bg-up-fill'}`}
          style={{ width: `${Math.min(1, share) * 100}%` }}
        />
      </div>
      <p class="mt-1 text-xs text-soft">
        {`${Math.floor(share * 100)}% of the error budget used`}
        {isSpent
          ? ' · exhausted (red)'
          : isAtRisk
            ? ` · at risk: over ${AT_RISK * 100}% (amber)`
            : ` · at risk over ${AT_RISK * 100}%`}
      </p>
    </>
  );
}
