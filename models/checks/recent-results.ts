import { TIMING_NAMES, writeTimings } from '../../core/incidents/evidence.ts';
import type { VotedResult } from '../../core/incidents/source-state.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';

/** A result that contains only how long its check took, as stored. */
export type SteadyResult = Pick<VotedResult, 'dueAtMs' | 'latencyMs' | 'httpStatus' | 'phases'> & {
  monitorNo: number;
  agentNo: number;
};

/**
 * Name of the mark that exists once every process reads packed results, and gives the time up to which they are packed.
 */
export const PACKED_MARK = 'packed_results';

/**
 * Time after the end of an hour, by the database's clock, in milliseconds. A transaction that begins later records the
 * hour as late (models/statistics/rollups.ts). One that began earlier may hold results that no other session sees yet:
 * packing the hour waits for its end.
 */
export const LATE_AFTER_MS = 60_000;

/** Maximum latency and timing that are packed, in milliseconds. */
const MAX_PACKED_MS = 2 ** 15 - 1;

/** Maximum number of results that one statement restores. */
const RESTORED_AT_ONCE = 50_000;

/** Time limit for restoring all results of a large installation after a crash, in milliseconds. */
const MAX_STATEMENT_MS = 600_000;

/** Maximum time that a result may be due ahead of PostgreSQL's clock, in milliseconds: clocks differ. */
const MAX_AHEAD_MS = 60_000;

/** Range of the due times of restored results, in Unix milliseconds. */
type DueRange = { fromMs: number; untilMs: number };

/** Thrown by a transaction that finds `recent_results` emptied by a crash: `restoreRecentResults` repairs that. */
export class RecentResultsLost extends Error {
  constructor() {
    super('The results of the last hours were lost in a crash of PostgreSQL and are not restored yet');
  }
}

/** Throws `RecentResultsLost` if `recent_results` is incomplete. */
export async function requireRecentResults(run: Run): Promise<void> {
  if (!(await hasRecentResults(run))) throw new RecentResultsLost();
}

async function hasRecentResults(run: Run): Promise<boolean> {
  const rows = await run({ name: 'has-recent-results', text: 'SELECT FROM recent_results_whole' });
  return rows.length > 0;
}

/**
 * Returns the due time from which steady results go to `recent_results` in this transaction, in Unix milliseconds;
 * earlier ones are too late. Infinity until every process reads packed results. Throws like `requireRecentResults`.
 */
export async function readRecentFrom(run: Run): Promise<number> {
  const [row] = await run<{ isWhole: boolean; packedUntilMs: number | null; beganAtMs: number }>({
    name: 'read-recent-from',
    text: `SELECT EXISTS (SELECT FROM recent_results_whole) AS "isWhole",
             (SELECT at FROM service_marks WHERE name = '${PACKED_MARK}') AS "packedUntilMs",
             (extract(epoch FROM now()) * 1000)::bigint AS "beganAtMs"`,
  });
  if (row?.isWhole !== true) throw new RecentResultsLost();
  if (row.packedUntilMs === null) return Number.POSITIVE_INFINITY;
  return Math.max(row.packedUntilMs, Math.floor((row.beganAtMs - HOUR_MS - LATE_AFTER_MS) / HOUR_MS) * HOUR_MS);
}

/** Reports whether a result contains only how long its check took, so that it can be packed. */
export function isSteady({ verdict, latencyMs, phases, dnsAnswers }: VotedResult): boolean {
  const times = [latencyMs, ...(phases === null ? [] : TIMING_NAMES.map((name) => phases[name]))];
  return (
    verdict === 'up' && dnsAnswers === undefined && times.every((ms) => ms === null || (ms >= 0 && ms <= MAX_PACKED_MS))
  );
}

/**
 * Stores steady results and returns the keys of the new ones. Each is stored in the table for reading, and all together
 * in a row of the table that survives a crash.
 */
export async function storeRecent(
  run: Run,
  results: readonly SteadyResult[],
): Promise<{ monitor_no: number; agent_no: number; due_at: number }[]> {
  if (results.length === 0) return [];
  const dueTimes = results.map((result) => result.dueAtMs);
  const newestMs = Math.max(...dueTimes);
  return await run(
    `WITH batch AS (INSERT INTO result_batches (slot, newest_due_at, results) VALUES ($7, $8, $9))
     INSERT INTO recent_results (due_at, monitor_no, agent_no, latency_ms, http_status, timings)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::smallint[], $5::smallint[], $6::text[])
       AS g (due_at, monitor_no, agent_no, latency_ms, http_status, timings)
     WHERE NOT EXISTS (
       SELECT FROM check_results r WHERE r.monitor_no = g.monitor_no AND r.agent_no = g.agent_no
         AND r.due_at = g.due_at AND r.due_at >= $10 AND r.due_at <= $8
     )
     ON CONFLICT DO NOTHING RETURNING monitor_no, agent_no, due_at`,
    [
      ...columnsOf(results),
      slotOf(newestMs),
      newestMs,
      Buffer.from(encodeBatch(results, newestMs)),
      Math.min(...dueTimes),
    ],
  );
}

function columnsOf(results: readonly SteadyResult[]): unknown[] {
  return [
    results.map((result) => result.dueAtMs),
    results.map((result) => result.monitorNo),
    results.map((result) => result.agentNo),
    results.map((result) => result.latencyMs),
    results.map((result) => result.httpStatus),
    results.map(({ phases }) => phases && writeTimings(phases)),
  ];
}

/** Returns the partition of `result_batches` for the batches of an hour: it is truncated as a whole. */
export function slotOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) % BATCH_SLOTS;
}

/** Batches are stored for the current hour, the previous one, and the one before that until it is packed. */
export const BATCH_SLOTS = 3;

/**
 * Restores `recent_results` from the batches if a crash of PostgreSQL has emptied it. One of several processes that
 * find it lost does so, and the others wait.
 */
export async function restoreRecentResults(database: Pick<Database, 'pool'>): Promise<void> {
  if (await hasRecentResults(runOn(database.pool))) return;
  await inTransaction(database, async (_, client) => {
    const run = runOn(client, MAX_STATEMENT_MS);
    await run(`SET LOCAL statement_timeout = ${MAX_STATEMENT_MS}`);
    await run(`SELECT pg_advisory_xact_lock(hashtextextended('recent results', 0))`);
    const whole = await run('INSERT INTO recent_results_whole DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING 1');
    if (whole.length === 0) return;
    const [kept] = await run<DueRange>(
      `SELECT coalesce((SELECT at FROM service_marks WHERE name = $1), 0) AS "fromMs",
         (extract(epoch FROM now()) * 1000)::bigint + ${MAX_AHEAD_MS} AS "untilMs"`,
      [PACKED_MARK],
    );
    if (kept === undefined) return;
    await run('DECLARE batches CURSOR FOR SELECT newest_due_at AS "newestMs", results FROM result_batches');
    for (;;) {
      const batches = await run<{ newestMs: number; results: Buffer }>('FETCH 100 FROM batches');
      if (batches.length === 0) return;
      const results = batches.flatMap((batch) => decodeBatch(batch.results, batch.newestMs));
      for (let start = 0; start < results.length; start += RESTORED_AT_ONCE)
        await restoreSome(run, results.slice(start, start + RESTORED_AT_ONCE), kept);
    }
  });
}

/**
 * Restores results, except those already stored as single rows or packed, and those ahead of a clock that was set back.
 */
async function restoreSome(run: Run, results: readonly SteadyResult[], { fromMs, untilMs }: DueRange): Promise<void> {
  const kept = results.filter(({ dueAtMs }) => dueAtMs >= fromMs && dueAtMs <= untilMs);
  if (kept.length === 0) return;
  const dueTimes = kept.map(({ dueAtMs }) => dueAtMs);
  await run(
    `INSERT INTO recent_results (due_at, monitor_no, agent_no, latency_ms, http_status, timings)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::smallint[], $5::smallint[], $6::text[])
       AS g (due_at, monitor_no, agent_no, latency_ms, http_status, timings)
     WHERE NOT EXISTS (
       SELECT FROM check_results r WHERE r.monitor_no = g.monitor_no AND r.agent_no = g.agent_no
         AND r.due_at = g.due_at AND r.due_at >= $7 AND r.due_at <= $8
     )
     ON CONFLICT DO NOTHING`,
    [...columnsOf(kept), dueTimes.reduce((a, b) => Math.min(a, b)), dueTimes.reduce((a, b) => Math.max(a, b))],
  );
}

/** Flags of a result: its agent or status differs from the previous one's, it has timings. */
const OTHER_AGENT = 1;
const OTHER_STATUS = 2;
const HAS_TIMINGS = 4;

/**
 * Encodes a batch in some six bytes a result. In the order of their monitors, each has the step to the monitor's number
 * with the flags, and the agent and the status if they differ. The age before `newestMs`, the latency, and the timings,
 * if any, follow. Numbers have seven bits a byte, the lowest first; nullable ones are incremented, and null is 0.
 */
export function encodeBatch(results: readonly SteadyResult[], newestMs: number): Uint8Array {
  const bytes: number[] = [];
  const put = (value: number) => {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  };
  const putNullable = (value: number | null) => put(value === null ? 0 : value + 1);
  let before: Pick<SteadyResult, 'monitorNo' | 'agentNo' | 'httpStatus'> = NOTHING_BEFORE;
  for (const result of results.toSorted((a, b) => a.monitorNo - b.monitorNo)) {
    const { monitorNo, agentNo, httpStatus, phases } = result;
    const flags =
      (agentNo === before.agentNo ? 0 : OTHER_AGENT) +
      (httpStatus === before.httpStatus ? 0 : OTHER_STATUS) +
      (phases === null ? 0 : HAS_TIMINGS);
    put((monitorNo - before.monitorNo) * 8 + flags);
    if (flags & OTHER_AGENT) put(agentNo);
    if (flags & OTHER_STATUS) putNullable(httpStatus);
    put(newestMs - result.dueAtMs);
    putNullable(result.latencyMs);
    if (phases !== null) for (const name of TIMING_NAMES) putNullable(phases[name]);
    before = result;
  }
  return Uint8Array.from(bytes);
}

const NOTHING_BEFORE = { monitorNo: 0, agentNo: 0, httpStatus: null };

/** Decodes a batch of `encodeBatch`. */
export function decodeBatch(bytes: Uint8Array, newestMs: number): SteadyResult[] {
  const results: SteadyResult[] = [];
  let at = 0;
  const take = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  const takeNullable = () => {
    const value = take();
    return value === 0 ? null : value - 1;
  };
  let before: Pick<SteadyResult, 'monitorNo' | 'agentNo' | 'httpStatus'> = NOTHING_BEFORE;
  while (at < bytes.length) {
    const step = take();
    const flags = step % 8;
    const agentNo = flags & OTHER_AGENT ? take() : before.agentNo;
    const httpStatus = flags & OTHER_STATUS ? takeNullable() : before.httpStatus;
    const dueAtMs = newestMs - take();
    const latencyMs = takeNullable();
    const phases =
      flags & HAS_TIMINGS
        ? {
            dnsMs: takeNullable(),
            connectMs: takeNullable(),
            tlsMs: takeNullable(),
            firstByteMs: takeNullable(),
            downloadMs: takeNullable(),
          }
        : null;
    const result = {
      monitorNo: before.monitorNo + Math.floor(step / 8),
      agentNo,
      dueAtMs,
      latencyMs,
      httpStatus,
      phases,
    };
    results.push(result);
    before = result;
  }
  return results;
}
