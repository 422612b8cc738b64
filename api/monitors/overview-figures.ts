import { KeptCalls } from '../../core/shared-calls.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import { judgeSla, measureStates, sumSeconds, type StateSeconds, type Stretch } from '../../core/statistics/sla.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { readStateHistories } from '../../models/incidents/state-history.ts';
import { excludedTimes, readMaintenanceTimes } from '../../models/maintenance/maintenance-times.ts';
import { countAlerts, listMeasuredMonitors, readLastChecks } from '../../models/monitors/monitor-overview.ts';
import type { MeasuredMonitor } from '../../models/monitors/monitors.ts';
import { runOn } from '../../models/sql.ts';
import { listServiceGaps } from '../../models/statistics/service-gaps.ts';
import { sumTallies } from '../../models/statistics/statistics.ts';
import type { Answer, Handler, Parts } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import {
  HOURS,
  MOST_CHANGES,
  MOST_MONITORS,
  firstDayMs,
  historyOf,
  secondsOf,
  sendCompressedJson,
} from './overview.ts';

type Schemas = components['schemas'];

/** What is known of an account, and what of each of its monitors. */
type Figures = { totals: Omit<Answer<'getOverviewFigures'>, 'monitors'>; monitors: Schemas['MonitorFigures'][] };

/** What one monitor adds to the figures of its account. */
type Part = { figures: Schemas['MonitorFigures']; daySeconds: StateSeconds; latency: Histogram };

/** The most accounts of which figures are kept. */
const MOST_ACCOUNTS = 200;

/** Figures are kept for this long per statement that they took, in milliseconds, and a minute at most. */
const KEPT_MS_A_STATEMENT = 1000;
const MOST_KEPT_MS = MINUTE_MS;

/** The figures of accounts; the larger an account, the longer they are kept, however many ask. */
class AccountFigures {
  readonly #parts: Parts<'database' | 'now'>;
  readonly #kept: KeptCalls<Figures>;

  constructor(parts: Parts<'database' | 'now'>) {
    this.#parts = parts;
    this.#kept = new KeptCalls((tenantId) => this.#compute(tenantId), { now: parts.now, most: MOST_ACCOUNTS });
  }

  async of(tenantId: string): Promise<Figures> {
    return await this.#kept.get(tenantId);
  }

  async #compute(tenantId: string): Promise<{ result: Figures; keptMs: number }> {
    const { database, now } = this.#parts;
    const nowMs = now();
    const dayAgoMs = nowMs - DAY_MS;
    const monitors = await listMeasuredMonitors(database, tenantId);
    const firstMs = firstDayMs(nowMs);
    const gaps = await listServiceGaps(runOn(database.pool), { fromMs: firstMs, toMs: nowMs, nowMs });
    const parts: Part[] = [];
    for (let start = 0; start < monitors.length; start += MOST_MONITORS)
      parts.push(...(await this.#measure(monitors.slice(start, start + MOST_MONITORS), { gaps, nowMs })));
    const result: Figures = {
      totals: {
        from: Math.floor(dayAgoMs / 1000),
        to: Math.floor(nowMs / 1000),
        uptime_percent: judgeSla(sumSeconds(parts.map(({ daySeconds }) => daySeconds)), null).uptimePercent,
        alerts: await countAlerts(database, { tenantId, sinceMs: dayAgoMs }),
        median_latency_ms: quantileOf(mergeHistograms(parts.map(({ latency }) => latency)), 0.5),
      },
      monitors: parts.map((part) => part.figures),
    };
    const statements = Math.max(1, Math.ceil(monitors.length / MOST_MONITORS));
    return { result, keptMs: Math.min(MOST_KEPT_MS, statements * KEPT_MS_A_STATEMENT) };
  }

  async #measure(
    monitors: readonly MeasuredMonitor[],
    { gaps, nowMs }: { gaps: readonly Stretch[]; nowMs: number },
  ): Promise<Part[]> {
    const { database } = this.#parts;
    const fromMs = firstDayMs(nowMs);
    const monitorNos = monitors.map(({ no }) => no);
    const hoursFromMs = (Math.floor(nowMs / HOUR_MS) + 1 - HOURS) * HOUR_MS;
    const [histories, maintenance, tallies, lastChecks] = await Promise.all([
      readStateHistories(database, {
        monitorIds: monitors.map(({ id }) => id),
        fromMs,
        toMs: nowMs,
        most: MOST_CHANGES,
      }),
      readMaintenanceTimes(database, { monitorNos, fromMs, toMs: nowMs }),
      sumTallies(database, { monitorNos, fromMs: hoursFromMs, toMs: nowMs, nowMs }),
      readLastChecks(database, { monitorNos, nowMs }),
    ]);
    return monitors.map((monitor) => {
      const { no, id } = monitor;
      const history = historyOf(monitor, {
        transitions: histories.get(id) ?? [],
        gaps,
        maintenance: excludedTimes(maintenance, no),
      });
      const latency = tallies.get(no)?.latency ?? { buckets: [], counts: [] };
      return {
        figures: {
          id,
          uptime_percent: judgeSla(measureStates({ ...history, fromMs, toMs: nowMs }), null).uptimePercent,
          median_latency_ms: quantileOf(latency, 0.5),
          last_check_at: secondsOf(lastChecks.get(no)),
        },
        daySeconds: measureStates({ ...history, fromMs: nowMs - DAY_MS, toMs: nowMs }),
        latency,
      };
    });
  }
}

/** `GET /overview/figures` */
export function getOverviewFiguresHandler({
  accountChecks,
  ...parts
}: Parts<'database' | 'now' | 'accountChecks'>): Handler<'getOverviewFigures'> {
  const accounts = new AccountFigures(parts);
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const [{ totals, monitors }, checks] = await Promise.all([accounts.of(tenantId), accountChecks.get(tenantId)]);
    const isWanted = request.query.per_monitor === 'true';
    await sendCompressedJson(request, response, {
      ...totals,
      overdue_monitors: checks.overdue.size,
      overdue_monitor_ids: [...checks.overdue],
      no_checks_since: secondsOf(checks.noChecksSinceMs ?? undefined),
      ...(isWanted && { monitors }),
    } satisfies Answer<'getOverviewFigures'>);
  };
}
