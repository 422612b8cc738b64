import type { StoredAnswers } from '../../core/checks/dns/judge.ts';
import { decodeCause, VERDICT_CODES, type Timings, type Vote } from '../../core/checks/verdict.ts';
import { readTimings } from '../../core/incidents/failure-evidence.ts';
import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** A check as it is stored; `agentNo` breaks ties of its moment, and `source` has nulls once the agent is deleted. */
export type StoredCheck = {
  atMs: number;
  agentNo: number;
  source: { id: string | null; name: string | null };
  verdict: Vote;
  cause: string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
  /** Null where they were not stored: of failures they are, of successes now and then. */
  timings: Timings | null;
  /** Null but for dns checks, of which they are stored where timings would be. */
  dnsAnswers: StoredAnswers | null;
};

/**
 * Which checks of a monitor are asked for: those due in `[fromMs, toMs)`; `before` is the last one of the page before.
 */
export type CheckQuery = {
  monitorNo: number;
  agentNo?: number;
  verdict?: Vote;
  fromMs: number;
  toMs: number;
  before?: { atMs: number; agentNo: number };
  limit: number;
};

/** What is asked for within one stretch of days. */
type Stretch = { query: CheckQuery; fromMs: number; toMs: number; limit: number };

type CheckRow = Pick<StoredCheck, 'atMs' | 'agentNo' | 'httpStatus' | 'latencyMs'> & {
  sourceId: string | null;
  sourceName: string | null;
  verdict: number;
  cause: number | null;
  detail: { reason?: string | null; cause?: string; phases?: string; dns?: StoredAnswers } | null;
};

/** Each stretch of days that is read is longer than the one after it by this factor. */
const STRETCH_GROWTH = 4;

const VERDICTS: readonly Vote[] = ['none', 'up', 'degraded', 'down'];

/**
 * The checks of a monitor, newest first. Reads ever longer stretches of days, so that a page of what is new opens no
 * partition of what is old.
 */
export async function listChecks(database: Pick<Database, 'pool'>, query: CheckQuery): Promise<StoredCheck[]> {
  const listStretch = query.verdict === undefined || query.verdict === 'up' ? listBySource : listFailures;
  const checks: StoredCheck[] = [];
  let toMs = Math.min(query.toMs, query.before === undefined ? query.toMs : query.before.atMs + 1);
  let days = 1;
  while (checks.length < query.limit && toMs > query.fromMs) {
    const fromMs = Math.max(query.fromMs, Math.floor((toMs - 1) / DAY_MS + 1 - days) * DAY_MS);
    const rows = await listStretch(database, { query, fromMs, toMs, limit: query.limit - checks.length });
    checks.push(...rows.map(checkOf));
    toMs = fromMs;
    days *= STRETCH_GROWTH;
  }
  return checks;
}

/**
 * The newest of each source, merged: results lie in the order of monitor, source and time. Which sources there are is
 * found by stepping from one to the next, so that those which no longer watch the monitor, or no longer exist, are
 * shown too.
 */
async function listBySource(
  database: Pick<Database, 'pool'>,
  { query, fromMs, toMs, limit }: Stretch,
): Promise<CheckRow[]> {
  const { bind, bound } = binds();
  const monitor = bound(query.monitorNo);
  const stretch = `due_at >= ${bound(fromMs)} AND due_at < ${bound(toMs)}`;
  const sources =
    query.agentNo === undefined ? selectSources(monitor, stretch) : `SELECT ${bound(query.agentNo)}::int AS agent_no`;
  return await runOn(database.pool)<CheckRow>(
    `WITH RECURSIVE sources AS (${sources})
     ${selectFrom(`sources s, LATERAL (
       SELECT * FROM check_results
       WHERE monitor_no = ${monitor} AND agent_no = s.agent_no AND ${stretch} ${conditionsOf(query, bound)}
       ORDER BY due_at DESC LIMIT ${bound(limit)}
     ) r`)}
     ORDER BY r.due_at DESC, r.agent_no DESC LIMIT ${bound(limit)}`,
    bind,
  );
}

/** What was not up is rare and has an index of its own. */
async function listFailures(
  database: Pick<Database, 'pool'>,
  { query, fromMs, toMs, limit }: Stretch,
): Promise<CheckRow[]> {
  const { bind, bound } = binds();
  const ofSource = query.agentNo === undefined ? '' : `AND agent_no = ${bound(query.agentNo)}`;
  return await runOn(database.pool)<CheckRow>(
    `${selectFrom('check_results r')}
     WHERE monitor_no = ${bound(query.monitorNo)} AND due_at >= ${bound(fromMs)}
       AND due_at < ${bound(toMs)} ${ofSource} ${conditionsOf(query, bound)}
     ORDER BY r.due_at DESC, r.agent_no DESC LIMIT ${bound(limit)}`,
    bind,
  );
}

function selectFrom(source: string): string {
  return `SELECT r.due_at AS "atMs", r.agent_no AS "agentNo", a.id AS "sourceId", a.name AS "sourceName",
            r.latency_ms AS "latencyMs", r.http_status AS "httpStatus", r.verdict, r.cause, r.detail
          FROM ${source} LEFT JOIN agents a ON a.no = r.agent_no`;
}

function selectSources(monitor: string, stretch: string): string {
  const first = (after: string) =>
    `SELECT agent_no FROM check_results WHERE monitor_no = ${monitor} AND ${stretch} ${after}
     ORDER BY agent_no LIMIT 1`;
  return (
    `(${first('')}) UNION ALL SELECT (${first('AND agent_no > sources.agent_no')}) FROM sources WHERE ` +
    'sources.agent_no IS ' +
    'NOT NULL'
  );
}

/**
 * The verdict is written out, from our own list: only a constant tells the planner that the index of failures will do.
 */
function conditionsOf({ verdict, before }: CheckQuery, bound: (value: unknown) => string): string {
  const ofVerdict = verdict === undefined ? '' : `AND verdict = ${VERDICT_CODES[verdict]}`;
  return before === undefined
    ? ofVerdict
    : `${ofVerdict} AND (due_at, agent_no) < (${bound(before.atMs)}, ${bound(before.agentNo)})`;
}

function binds(): { bind: unknown[]; bound: (value: unknown) => string } {
  const bind: unknown[] = [];
  return { bind, bound: (value) => `$${bind.push(value)}` };
}

function checkOf({ sourceId, sourceName, detail, ...row }: CheckRow): StoredCheck {
  return {
    ...row,
    source: { id: sourceId, name: sourceName },
    verdict: VERDICTS[row.verdict] ?? 'none',
    cause: row.cause === null ? (detail?.cause ?? null) : decodeCause(row.cause),
    reason: detail?.reason ?? null,
    timings: detail?.phases === undefined ? null : readTimings(detail.phases),
    dnsAnswers: detail?.dns ?? null,
  };
}
