import { SharedCalls } from '../../core/shared-calls.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import { judgeSla, measureStates, sumSeconds, type StateSeconds, type Stretch } from '../../core/statistics/sla.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { readStateHistories } from '../../models/incidents/state-history.ts';
import { countAlerts, listMeasuredMonitors, readLastChecks } from '../../models/monitors/monitor-overview.ts';
import type { MeasuredMonitor } from '../../models/monitors/monitors.ts';
import { runOn } from '../../models/sql.ts';
import { listServiceGaps } from '../../models/statistics/service-gaps.ts';
import { sumTallies } from '../../models/statistics/statistics.ts';
import type { Parts } from '../dependencies.ts';
import type { Answer, Handler } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import {
  firstDayMs,
  historyOf,
  HOURS,
  MOST_CHANGES,
  MOST_MONITORS,
  secondsOf,
  sendCompressedJson,
} from './overview.ts';

type Schemas = components['schemas'];

/** What is known of an account, and what of each of its monitors. */
type Figures = { totals: Answer<'getOverviewFigures'>; monitors: Schemas['MonitorFigures'][] };

/** What one monitor adds to the figures of its account. */
type Part = { figures: Schemas['MonitorFigures']; daySeconds: StateSeconds; latency: Histogram };

/** Figures are answered again for this long per statement that they took, in milliseconds, and a minute at most. */
const FRESH_MS_A_STATEMENT = 1000;
const MOST_FRESH_MS = MINUTE_MS;

/** The most accounts whose figures are kept. */
const MOST_KEPT = 200;

/** The figures of accounts; the larger an account, the longer they are kept, however many ask. */
class AccountFigures {
  readonly #parts: Parts<'database' | 'now'>;
  readonly #kept = new Map<string, { figures: Figures; untilMs: number }>();
  readonly #calls = new SharedCalls(
    (tenantId: string) => this.#compute(tenantId),
    (tenantId) => tenantId,
  );

  constructor(parts: Parts<'database' | 'now'>) {
    this.#parts = parts;
  }

  async of(tenantId: string): Promise<Figures> {
    const kept = this.#kept.get(tenantId);
    if (kept !== undefined && this.#parts.now() < kept.untilMs) return kept.figures;
    return await this.#calls.run(tenantId);
  }

  async #compute(tenantId: string): Promise<Figures> {
    const { database, now } = this.#parts;
    const nowMs = now();
    const dayAgoMs = nowMs - DAY_MS;
    const monitors = await listMeasuredMonitors(database, tenantId);
    const firstMs = firstDayMs(nowMs);
    const gaps = await listServiceGaps(runOn(database.pool), { fromMs: firstMs, toMs: nowMs, nowMs });
    const parts: Part[] = [];
    for (let start = 0; start < monitors.length; start += MOST_MONITORS)
      parts.push(...(await this.#measure(monitors.slice(start, start + MOST_MONITORS), { gaps, nowMs })));
    const figures: Figures = {
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
    this.#keep(tenantId, {
      figures,
      untilMs: now() + Math.min(MOST_FRESH_MS, statements * FRESH_MS_A_STATEMENT),
    });
    return figures;
  }

  async #measure(
    monitors: readonly MeasuredMonitor[],
    { gaps, nowMs }: { gaps: readonly Stretch[]; nowMs: number },
  ): Promise<Part[]> {
    const { database } = this.#parts;
    const fromMs = firstDayMs(nowMs);
    const monitorNos = monitors.map(({ no }) => no);
    const hoursFromMs = (Math.floor(nowMs / HOUR_MS) + 1 - HOURS) * HOUR_MS;
    const [histories, tallies, lastChecks] = await Promise.all([
      readStateHistories(database, {
        monitorIds: monitors.map(({ id }) => id),
        fromMs,
        toMs: nowMs,
        most: MOST_CHANGES,
      }),
      sumTallies(database, { monitorNos, fromMs: hoursFromMs, toMs: nowMs, nowMs }),
      readLastChecks(database, { monitorNos, nowMs }),
    ]);
    return monitors.map((monitor) => {
      const { no, id } = monitor;
      const history = historyOf(monitor, histories.get(id) ?? [], gaps);
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

  #keep(tenantId: string, computed: { figures: Figures; untilMs: number }): void {
    this.#kept.delete(tenantId);
    this.#kept.set(tenantId, computed);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** `GET /overview/figures` */
export function getOverviewFiguresHandler(parts: Parts<'database' | 'now'>): Handler<'getOverviewFigures'> {
  const accounts = new AccountFigures(parts);
  return async (request, response) => {
    const { totals, monitors } = await accounts.of(callerOf(response).tenantId);
    const isWanted = request.query.per_monitor === 'true';
    await sendCompressedJson(request, response, {
      ...totals,
      ...(isWanted && { monitors }),
    } satisfies Answer<'getOverviewFigures'>);
  };
}
