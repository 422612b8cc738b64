import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { isOverdue } from '../../core/checks/slots.ts';
import type { MonitorStatus } from '../../core/incidents/state.ts';
import { KeptCalls } from '../../core/shared-calls.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import {
  judgeSla,
  measureStates,
  measureSteps,
  sumSeconds,
  worstStateOf,
  type StateHistory,
  type StateSeconds,
  type Stretch,
} from '../../core/statistics/sla.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, toUnixSeconds } from '../../core/time.ts';
import { readStateHistories } from '../../models/incidents/transitions.ts';
import { measureWithMaintenance, readCurrentMaintenance } from '../../models/maintenance/maintenance-times.ts';
import {
  countAlerts,
  listAllMonitors,
  listMeasuredMonitors,
  readHourlyLatencies,
  readLastChecks,
} from '../../models/monitors/monitor-overview.ts';
import type { MeasuredMonitor } from '../../models/monitors/monitors.ts';
import { runOn } from '../../models/sql.ts';
import { listServiceGaps } from '../../models/statistics/service-gaps.ts';
import { sumTallies } from '../../models/statistics/statistics.ts';
import { badRequest } from '../api-error.ts';
import type { Answer, Handler, Parts } from '../handler.ts';
import { callerOf, isId } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { presentMonitor, readCurrentFacts } from './presenter.ts';

type Schemas = components['schemas'];

/** Minimum size for compression, in bytes: below it compression takes longer than it saves. */
const WORTHWHILE_BYTES = 16_384;

/** Takes a third of the time of zlib's default level, for a sixth more bytes. */
const LEVEL = 3;

/**
 * Sends JSON, compressed if that pays off and the caller accepts it. Thousands of monitors take megabytes, and a tenth
 * of that when compressed. Use it only for responses without secrets and without content of the request: the length of
 * a compressed response reveals something of its content.
 */
async function sendCompressedJson(request: Request, response: Response, body: object): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  response.vary('Accept-Encoding').type('json');
  if (bytes.length < WORTHWHILE_BYTES || request.acceptsEncodings('gzip') !== 'gzip') {
    response.send(bytes);
    return;
  }
  const zipped = await promisify(gzip)(bytes, { level: LEVEL });
  response.set('Content-Encoding', 'gzip').send(zipped);
}

/** Length of a history, in days. */
const DAYS = 90;
const HOURS = 24;

/** Several times the rows of a large screen; limits a request's load on the database. */
const MAX_MONITORS = 50;

/**
 * Maximum number of state changes that one monitor's history is computed from, a hundred a day. A monitor that flaps
 * more often is measured from the oldest of these on.
 */
export const MAX_CHANGES = 10_000;

/** Returns the history that a monitor's uptime is computed from. */
export function historyOf(
  { createdAt }: Pick<MeasuredMonitor, 'createdAt'>,
  { transitions, gaps, maintenance }: Omit<StateHistory, 'createdAtMs'>,
): StateHistory {
  const [oldest] = transitions;
  const isCut = oldest !== undefined && transitions.length >= MAX_CHANGES;
  return { transitions, createdAtMs: isCut ? oldest.atMs : createdAt * 1000, gaps, maintenance };
}

/** `GET /overview` */
export function getOverviewHandler({ database, now }: Parts<'database' | 'now'>): Handler<'getOverview'> {
  return async (request, response) => {
    const { tag: tags = [] } = request.query;
    const { tenantId } = callerOf(response);
    const read = { tenantId, nowMs: now() };
    const [all, facts] = await Promise.all([
      listAllMonitors(database, tenantId),
      readCurrentFacts(database, { ...read, hasHeartbeats: true }),
    ]);
    const monitors = all
      .filter((monitor) => tags.every((tag) => monitor.tags.includes(tag)))
      .map((monitor) => presentMonitor(monitor, facts(monitor.id)));
    const count = (status: string) => monitors.filter((monitor) => monitor.status === status).length;
    await sendCompressedJson(request, response, {
      total: monitors.length,
      up: count('up'),
      down: count('down'),
      monitors,
    } satisfies Answer<'getOverview'>);
  };
}

/** `GET /overview/history` */
export function getOverviewHistoryHandler({ database, now }: Parts<'database' | 'now'>): Handler<'getOverviewHistory'> {
  return async (request, response) => {
    const { ids } = request.query;
    const monitors = await listMeasuredMonitors(database, callerOf(response).tenantId, readIds(ids));
    const nowMs = now();
    const firstMs = firstDayMs(nowMs);
    const edges = [...Array.from({ length: DAYS }, (_, day) => firstMs + day * DAY_MS), nowMs];
    const span = { fromMs: firstMs, toMs: nowMs, nowMs };
    const monitorNos = monitors.map(({ no }) => no);
    const [histories, gaps, latencies, lastChecks] = await Promise.all([
      readStateHistories(database, { monitorIds: monitors.map(({ id }) => id), ...span, most: MAX_CHANGES }),
      listServiceGaps(runOn(database.pool), span),
      readHourlyLatencies(database, { monitorNos, hours: HOURS, nowMs }),
      readLastChecks(database, { monitorNos, nowMs }),
    ]);
    const shown = await measureWithMaintenance(
      database,
      { monitors, ...span },
      async (monitor, { excluded: maintenance }): Promise<Answer<'getOverviewHistory'>['histories'][number]> => {
        const { no, id } = monitor;
        // Ten thousand changes per monitor take some milliseconds, so the event loop gets a turn in between.
        await setImmediate();
        const history = historyOf(monitor, { transitions: histories.get(id) ?? [], gaps, maintenance });
        const days = await measureSteps(history, edges);
        const { hourly = [], median = null } = latencies.get(no) ?? {};
        return {
          id,
          first_day: firstMs / 1000,
          uptime_percent: judgeSla(measureStates({ ...history, ...span }), null).uptimePercent,
          daily_uptime: days.map((seconds) => judgeSla(seconds, null).uptimePercent),
          daily_worst_state: days.map(worstStateOf),
          hourly_latency_ms: hourly,
          median_latency_ms: median,
          last_check_at: secondsOf(lastChecks.get(no)),
          overdue: isOverdue(monitor, lastChecks.get(no), nowMs),
        };
      },
    );
    response.json({ histories: shown });
  };
}

/** Returns the start of the first UTC day whose uptime is shown. */
function firstDayMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1 - DAYS) * DAY_MS;
}

/** Converts a time to whole Unix seconds; null if there is none. */
export function secondsOf(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : toUnixSeconds(ms);
}

function readIds(text: string): string[] {
  const ids = [...new Set(text.split(',').map((id) => id.trim()))].filter((id) => id !== '');
  if (ids.length === 0 || ids.length > MAX_MONITORS)
    throw badRequest(`ids must be 1 to ${MAX_MONITORS} comma-separated ids, got ${ids.length}`);
  return ids.filter(isId);
}

/** Maximum number of listed monitors, more than a screen shows; the others are counted. */
const MAX_SHOWN = 500;

/** Statuses by urgency, the most urgent first. */
const ORDER: readonly MonitorStatus[] = ['down', 'degraded', 'pending', 'up', 'paused'];

/**
 * `GET /wall`: only names, statuses, last checks and ends of maintenance. The wallboard may be displayed publicly, so
 * ids, targets and reasons, which can reveal details of an internal network, are left out.
 */
export function getWallHandler({
  database,
  now,
  accountChecks,
}: Parts<'database' | 'now' | 'accountChecks'>): Handler<'getWall'> {
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const checks = await accountChecks.get(tenantId);
    const maintenance = await readCurrentMaintenance(database, { tenantId, nowMs: now() });
    const monitors = (await listAllMonitors(database, tenantId))
      .map((monitor) => presentMonitor(monitor, {}))
      .map(({ id, name, type, target, status, state_since }) => ({
        name,
        status,
        state_since,
        last_check_at: secondsOf(checks.lastChecks.get(id)),
        overdue: checks.overdue.has(id),
        draft: target === '' && type !== 'heartbeat',
        maintenance_until: maintenance.get(id)?.ends_at ?? null,
      }));
    const ofStatus = (status: MonitorStatus) => monitors.filter((monitor) => monitor.status === status);
    const worst = ORDER.flatMap((status) => ofStatus(status).toSorted((a, b) => Number(b.overdue) - Number(a.overdue)));
    await sendCompressedJson(request, response, {
      at: toUnixSeconds(now()),
      total: monitors.length,
      counts: {
        down: ofStatus('down').length,
        degraded: ofStatus('degraded').length,
        pending: ofStatus('pending').length,
        up: ofStatus('up').length,
        paused: ofStatus('paused').length,
      },
      overdue_monitors: checks.overdue.size,
      no_checks_since: secondsOf(checks.noChecksSinceMs),
      monitors: worst.slice(0, MAX_SHOWN),
    } satisfies Answer<'getWall'>);
  };
}

/** Figures of an account, and of each of its monitors. */
type Figures = { totals: Omit<Answer<'getOverviewFigures'>, 'monitors'>; monitors: Schemas['MonitorFigures'][] };

/** One monitor's contribution to the figures of its account. */
type Part = { figures: Schemas['MonitorFigures']; daySeconds: StateSeconds; latency: Histogram };

/** Maximum number of accounts with cached figures. */
const MAX_ACCOUNTS = 200;

/** Time that figures are cached per statement that they took, in milliseconds, and the maximum. */
const KEPT_MS_A_STATEMENT = 1000;
const MAX_KEPT_MS = MINUTE_MS;

/** Cached figures of accounts; the larger an account, the longer they are cached. */
class AccountFigures {
  readonly #parts: Parts<'database' | 'now'>;
  readonly #kept: KeptCalls<Figures>;

  constructor(parts: Parts<'database' | 'now'>) {
    this.#parts = parts;
    this.#kept = new KeptCalls((tenantId) => this.#compute(tenantId), { now: parts.now, most: MAX_ACCOUNTS });
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
    for (let start = 0; start < monitors.length; start += MAX_MONITORS)
      parts.push(...(await this.#measure(monitors.slice(start, start + MAX_MONITORS), { gaps, nowMs })));
    const result: Figures = {
      totals: {
        from: toUnixSeconds(dayAgoMs),
        to: toUnixSeconds(nowMs),
        uptime_percent: judgeSla(sumSeconds(parts.map(({ daySeconds }) => daySeconds)), null).uptimePercent,
        alerts: await countAlerts(database, { tenantId, sinceMs: dayAgoMs }),
        median_latency_ms: quantileOf(mergeHistograms(parts.map(({ latency }) => latency)), 0.5),
      },
      monitors: parts.map((part) => part.figures),
    };
    const statements = Math.max(1, Math.ceil(monitors.length / MAX_MONITORS));
    return { result, keptMs: Math.min(MAX_KEPT_MS, statements * KEPT_MS_A_STATEMENT) };
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
        most: MAX_CHANGES,
      }),
      sumTallies(database, { monitorNos, fromMs: hoursFromMs, toMs: nowMs, nowMs }),
      readLastChecks(database, { monitorNos, nowMs }),
    ]);
    const read = { monitors, fromMs, toMs: nowMs };
    return await measureWithMaintenance(database, read, (monitor, { excluded: maintenance }) => {
      const { no, id } = monitor;
      const history = historyOf(monitor, { transitions: histories.get(id) ?? [], gaps, maintenance });
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
      no_checks_since: secondsOf(checks.noChecksSinceMs),
      ...(isWanted && { monitors }),
    } satisfies Answer<'getOverviewFigures'>);
  };
}
