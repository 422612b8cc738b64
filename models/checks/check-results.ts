import type { StoredAnswers } from '../../core/checks/dns/judge.ts';
import { VERDICT_CODES, decodeCause, encodeCause, type Timings, type Vote } from '../../core/checks/verdict.ts';
import { readTimings, writeTimings } from '../../core/incidents/evidence.ts';
import type { VotedResult } from '../../core/incidents/source-state.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';
import { storeRecent } from './recent-results.ts';

/** A result of one source to store. */
export type MeasuredResult = VotedResult & { monitorNo: number; agentNo: number };

type ResultKey = { monitor_no: number; agent_no: number; due_at: number };

/**
 * Stores results and returns the identities of the new ones: a repeated result is stored once. Those for which
 * `isRecent` returns true are packed later, all others remain single rows.
 */
export async function storeResults(
  run: Run,
  results: readonly MeasuredResult[],
  isRecent: (result: MeasuredResult) => boolean = () => false,
): Promise<Set<string>> {
  const { recent = [], single = [] } = Object.groupBy(results, (result) => (isRecent(result) ? 'recent' : 'single'));
  const rows = [...(await storeSingle(run, single)), ...(await storeRecent(run, recent))];
  return new Set(
    rows.map(({ monitor_no: monitorNo, agent_no: agentNo, due_at: dueAtMs }) =>
      resultIdentity({ monitorNo, agentNo, dueAtMs }),
    ),
  );
}

/**
 * Stores results as single rows. One that was packed, or is to be, is not stored again, even with other values. Of
 * several equal ones in the batch the first is stored; without an explicit order the plan may change theirs.
 */
async function storeSingle(run: Run, results: readonly MeasuredResult[]): Promise<ResultKey[]> {
  if (results.length === 0) return [];
  return await run<ResultKey>(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
     SELECT due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail
     FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::smallint[], $7::smallint[],
       $8::jsonb[])
       WITH ORDINALITY AS g (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail, no)
     WHERE NOT EXISTS (
       SELECT FROM recent_results r
       WHERE r.monitor_no = g.monitor_no AND r.agent_no = g.agent_no AND r.due_at = g.due_at
     ) AND NOT EXISTS (
       SELECT FROM unpacked_results($9, $10) u
       WHERE u.monitor_no = g.monitor_no AND u.agent_no = g.agent_no AND u.due_at = g.due_at
         AND u.packed_at = g.due_at / ${HOUR_MS} * ${HOUR_MS} + g.due_at % 1000
     )
     ORDER BY no
     ON CONFLICT DO NOTHING RETURNING monitor_no, agent_no, due_at`,
    [
      results.map((result) => result.dueAtMs),
      results.map((result) => result.monitorNo),
      results.map((result) => result.agentNo),
      results.map((result) => result.latencyMs),
      results.map((result) => result.httpStatus),
      results.map((result) => VERDICT_CODES[result.verdict]),
      results.map((result) => (result.cause === null ? null : encodeCause(result.cause))),
      results.map(detailOf),
      Math.min(...results.map((result) => result.dueAtMs)),
      Math.max(...results.map((result) => result.dueAtMs)) + 1,
    ],
  );
}

/** Returns the identity of a result as `storeResults` does. */
export function resultIdentity(result: Pick<MeasuredResult, 'monitorNo' | 'agentNo' | 'dueAtMs'>): string {
  return `${result.monitorNo}/${result.agentNo}/${result.dueAtMs}`;
}

/**
 * Returns the details of a result besides its columns; null = none. For results that are not up: the reason, and the
 * cause if it has no code; for dns checks: the answers. Timings, if any, are one text, because an object would cost
 * each row 14 bytes on average.
 */
function detailOf({ verdict, cause, reason, phases, dnsAnswers }: MeasuredResult): string | null {
  const taken =
    phases === null && dnsAnswers === undefined
      ? null
      : { ...(phases && { phases: writeTimings(phases) }), ...(dnsAnswers && { dns: dnsAnswers }) };
  if (verdict === 'up') return taken && JSON.stringify(taken);
  const uncoded = cause !== null && encodeCause(cause) === null;
  return JSON.stringify({ reason, ...(uncoded && { cause }), ...taken });
}

/** A stored check; `agentNo` breaks ties of its time, and `source` has nulls once the agent is deleted. */
export type StoredCheck = {
  atMs: number;
  agentNo: number;
  source: { id: string | null; name: string | null };
  verdict: Vote;
  cause: string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
  /** Null if not stored: failures store them, and some successes. */
  timings: Timings | null;
  /** Null except for dns checks, for which they are stored when timings would be. */
  dnsAnswers: StoredAnswers | null;
};

/** Query for checks of a monitor, due in `[fromMs, toMs)`; `before` is the last one of the previous page. */
type CheckQuery = {
  monitorNo: number;
  agentNo?: number;
  verdict?: Vote;
  fromMs: number;
  toMs: number;
  before?: { atMs: number; agentNo: number };
  limit: number;
};

/** The query for one range of days. */
type Stretch = { query: CheckQuery; fromMs: number; toMs: number; limit: number };

type CheckRow = Pick<StoredCheck, 'atMs' | 'agentNo' | 'httpStatus' | 'latencyMs'> & {
  sourceId: string | null;
  sourceName: string | null;
  verdict: number;
  cause: number | null;
  detail: { reason?: string | null; cause?: string; phases?: string; dns?: StoredAnswers } | null;
};

/** Factor by which each range of days that is read is longer than the previous one. */
const STRETCH_GROWTH = 4;

const VERDICTS: readonly Vote[] = ['none', 'up', 'degraded', 'down'];

/**
 * Lists the checks of a monitor, newest first. Reads ever longer ranges of days, so that a page of new checks opens no
 * old partitions.
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

/** Merges the newest results in single rows with the packed ones. */
async function listBySource(database: Pick<Database, 'pool'>, stretch: Stretch): Promise<CheckRow[]> {
  const { query, toMs, limit } = stretch;
  const single = await listSingle(database, stretch);
  const oldest = single.length < limit ? undefined : single.at(-1);
  const fromMs = oldest?.atMs ?? stretch.fromMs;
  const packedFromMs = await findPackedFrom(database, { query, fromMs, toMs, limit });
  if (packedFromMs === null) return single;
  const packed = await listPacked(database, { query, fromMs: Math.max(fromMs, packedFromMs), toMs, limit });
  return [...single, ...packed].toSorted((a, b) => b.atMs - a.atMs || b.agentNo - a.agentNo).slice(0, limit);
}

/**
 * Lists the newest results of each source, merged: results are ordered by monitor, source and time. Sources are found
 * by stepping from one to the next, so that those which no longer check the monitor, or were deleted, are included.
 */
async function listSingle(
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
       SELECT * FROM single_results
       WHERE monitor_no = ${monitor} AND agent_no = s.agent_no AND ${stretch} ${conditionsOf(query, bound)}
       ORDER BY due_at DESC LIMIT ${bound(limit)}
     ) r`)}
     ORDER BY r.due_at DESC, r.agent_no DESC LIMIT ${bound(limit)}`,
    bind,
  );
}

async function listPacked(
  database: Pick<Database, 'pool'>,
  { query, fromMs, toMs, limit }: Stretch,
): Promise<CheckRow[]> {
  const { bind, bound } = binds();
  return await runOn(database.pool)<CheckRow>(
    `${selectFrom(`unpacked_results(${bound(fromMs)}, ${bound(toMs)}) r`)}
     WHERE monitor_no = ${bound(query.monitorNo)} ${ofSource(query, bound)} ${conditionsOf(query, bound)}
     ORDER BY r.due_at DESC, r.agent_no DESC LIMIT ${bound(limit)}`,
    bind,
  );
}

/**
 * Returns the start of the oldest hour whose packed results can be on the page; null if there are none. The hour in
 * which the page begins may have only one.
 */
async function findPackedFrom(
  database: Pick<Database, 'pool'>,
  { query, fromMs, toMs, limit }: Stretch,
): Promise<number | null> {
  const { bind, bound } = binds();
  const to = bound(toMs);
  const from = bound(fromMs);
  const [found] = await runOn(database.pool)<{ fromMs: number | null }>(
    `SELECT coalesce(max(hour) FILTER (WHERE newer >= ${bound(limit)}), min(greatest(hour, ${from}))) AS "fromMs" FROM (
       SELECT hour, sum(results) OVER (ORDER BY hour DESC) AS newer FROM (
         SELECT at / ${HOUR_MS} * ${HOUR_MS} AS hour,
           sum(CASE WHEN at + ${HOUR_MS} <= ${to} THEN cardinality(latencies_ms) ELSE 0 END) AS results
         FROM packed_results
         WHERE monitor_no = ${bound(query.monitorNo)} ${ofSource(query, bound)} AND at > ${from}::bigint - ${HOUR_MS}
           AND at < ${to}::bigint
         GROUP BY 1
       ) h
     ) n`,
    bind,
  );
  return found?.fromMs ?? null;
}

/** A source's results that were due in a time range, excluding `afterMs`. */
type SourceWindow = { monitorNo: number; agentNo: number; checksVersion: number; afterMs: number; untilMs: number };

/** Maximum number of missed results read per source: the first one breaks its streak, so these are more than enough. */
const MAX_MISSED = 10;

/**
 * Lists the oldest results in windows of sources, as they were evaluated, without evidence. The smallest `afterMs` is
 * also passed as a constant, so that older partitions are not opened.
 */
export async function listMissedResults(run: Run, windows: readonly SourceWindow[]): Promise<MeasuredResult[]> {
  const rows = await run<CheckRow & { monitorNo: number; checksVersion: number }>(
    `SELECT k.monitor_no AS "monitorNo", k.agent_no AS "agentNo", k.checks_version AS "checksVersion",
       r.due_at AS "atMs", r.latency_ms AS "latencyMs", r.http_status AS "httpStatus", r.verdict, r.cause, r.detail
     FROM unnest($1::int[], $2::int[], $3::int[], $4::bigint[], $5::bigint[])
       AS k (monitor_no, agent_no, checks_version, after_ms, until_ms), LATERAL (
         SELECT * FROM single_results s WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no
           AND s.due_at > k.after_ms AND s.due_at <= k.until_ms AND s.due_at > $6
         ORDER BY s.due_at LIMIT ${MAX_MISSED}
       ) r`,
    [
      windows.map(({ monitorNo }) => monitorNo),
      windows.map(({ agentNo }) => agentNo),
      windows.map(({ checksVersion }) => checksVersion),
      windows.map(({ afterMs }) => afterMs),
      windows.map(({ untilMs }) => untilMs),
      Math.min(...windows.map(({ afterMs }) => afterMs)),
    ],
  );
  return rows.map(({ monitorNo, checksVersion, ...row }) => {
    const { atMs, agentNo, verdict, cause, reason, httpStatus, latencyMs } = checkOf(row);
    const voted = { dueAtMs: atMs, checksVersion, verdict, cause, reason, httpStatus, latencyMs };
    return { ...voted, monitorNo, agentNo, phases: null, answer: null };
  });
}

/** Lists results that were not up, which are rare and have a separate index. */
async function listFailures(
  database: Pick<Database, 'pool'>,
  { query, fromMs, toMs, limit }: Stretch,
): Promise<CheckRow[]> {
  const { bind, bound } = binds();
  return await runOn(database.pool)<CheckRow>(
    `${selectFrom('check_results r')}
     WHERE monitor_no = ${bound(query.monitorNo)} AND due_at >= ${bound(fromMs)}
       AND due_at < ${bound(toMs)} ${ofSource(query, bound)} ${conditionsOf(query, bound)}
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
    `SELECT agent_no FROM single_results WHERE monitor_no = ${monitor} AND ${stretch} ${after}
     ORDER BY agent_no LIMIT 1`;
  return (
    `(${first('')}) UNION ALL ` +
    `SELECT (${first('AND agent_no > sources.agent_no')}) FROM sources WHERE sources.agent_no IS NOT NULL`
  );
}

function ofSource({ agentNo }: CheckQuery, bound: (value: unknown) => string): string {
  return agentNo === undefined ? '' : `AND agent_no = ${bound(agentNo)}`;
}

/** The verdict is inlined, from a fixed list: only a constant lets the planner use the index of failures. */
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
