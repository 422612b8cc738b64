import type { ComponentChildren } from 'preact';
import { api } from '../../client/api.ts';
import { openIncidents } from '../../client/live.ts';
import { signedIn } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useLoad, type Load } from '../../parts/load.tsx';
import { OverdueWarning } from '../../parts/status.tsx';
import { formatLatency } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';
import { formatUptime } from './row.tsx';

type AccountFigures = Schemas['OverviewFigures'];

/** The account's figures. `isPerMonitor`: with those of each monitor. */
export function useFigures(isPerMonitor: boolean): Load<AccountFigures> {
  return useLoad(
    (signal) => api.get('/overview/figures', { query: isPerMonitor ? { per_monitor: 'true' } : {}, signal }),
    [isPerMonitor],
  );
}

/** Warns that monitors are overdue, and leads to the reason. */
export function Overdue({ figures }: { figures: AccountFigures | null }) {
  const { overdue_monitors: overdue, no_checks_since: since } = figures ?? {};
  const [href, label] = signedIn().user.is_operator
    ? [PATHS.fleet, 'Check the system']
    : [`${PATHS.monitors}?status=overdue`, 'Show overdue monitors'];
  return (
    <div class="rounded-md bg-surface shadow-lg">
      <OverdueWarning overdue={overdue} since={since}>
        <a href={href} class="font-medium underline underline-offset-2">
          {label}
        </a>
      </OverdueWarning>
    </div>
  );
}

/** The four figures above the list: uptime, open incidents, alerts and response time. */
export function KeyFigures({ figures }: { figures: AccountFigures | null }) {
  const { size: open } = openIncidents.value;
  const { uptime_percent: uptime = null, alerts, median_latency_ms: median = null } = figures ?? {};
  return (
    <dl
      class="
        mx-4 mt-3 grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line md:mx-3 md:grid-cols-4
      "
    >
      <KeyFigure label="Uptime" period="24 h">
        {formatUptime(uptime) || '–'}
      </KeyFigure>
      <KeyFigure label="Open incidents">
        <a href={`${PATHS.incidents}?status=open`} class={`hover:underline ${open > 0 ? 'text-down' : 'text-ink'}`}>
          {open}
        </a>
      </KeyFigure>
      <KeyFigure label="Alerts" period="24 h">
        {alerts ?? '–'}
      </KeyFigure>
      <KeyFigure label="Response time (p50)" period="24 h">
        {median === null ? '–' : formatLatency(median)}
      </KeyFigure>
    </dl>
  );
}

function KeyFigure({ label, period, children }: { label: string; period?: string; children: ComponentChildren }) {
  return (
    <div class="flex flex-col justify-between bg-surface px-3.5 py-2.5 md:px-4">
      <dt class="text-xs text-soft">
        {label}
        {period !== undefined && `, ${period}`}
      </dt>
      <dd class="heading text-lg leading-6">{children}</dd>
    </div>
  );
}
