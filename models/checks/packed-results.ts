import { HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, sqlStateOf, type Run } from '../sql.ts';
import { isOpenSince, SETTLED_AFTER_MS } from '../statistics/rollups.ts';
import { createPartitions, LOCK_NOT_AVAILABLE, NO_PARTITION } from '../system/partitions.ts';
import { BATCH_SLOTS, LATE_AFTER_MS, PACKED_MARK, requireRecentResults, slotOf } from './recent-results.ts';

/** Number of monitors whose hour is packed with one statement. */
const CHUNK = 5000;

/** Time limit of a statement for an hour of a large installation, or all results after a crash, in milliseconds. */
const MAX_STATEMENT_MS = 600_000;

/** Time after which a process that was not recorded is considered gone, in seconds. */
const ACTIVE_SECONDS = 60;

/** Longer than any transaction takes: after it an hour no longer waits for open ones. */
const PATIENCE_MS = 600_000;

/**
 * Begins to pack results once all active processes read packed ones; false before. This is permanent: a process of the
 * previous release, started again, would not see the newest results.
 */
export async function beginPacking(run: Run, nowMs: number): Promise<boolean> {
  const [found] = await run<{ packs: boolean; mayBegin: boolean | null }>(
    `SELECT EXISTS (SELECT FROM service_marks WHERE name = $1) AS packs, (
       SELECT bool_and(reads_packed) FROM processes WHERE seen_at >= $2) AS "mayBegin"`,
    [PACKED_MARK, Math.floor(nowMs / 1000) - ACTIVE_SECONDS],
  );
  if (found?.packs === true) return true;
  if (found?.mayBegin !== true) return false;
  await beginPackingAt(run, nowMs);
  return true;
}

/** Begins to pack results, starting with the hour of `nowMs`. */
export async function beginPackingAt(run: Run, nowMs: number): Promise<void> {
  await run('INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
    PACKED_MARK,
    Math.floor(nowMs / HOUR_MS) * HOUR_MS,
  ]);
}

/**
 * Packs the results of the oldest unpacked hour, an hour after its end, in one transaction with the mark. False if the
 * hour is too recent, a transaction that may add to it is open, or another process is packing. Throws if the newest
 * results are lost.
 */
export async function packNextHour(database: Pick<Database, 'pool'>, nowMs: number): Promise<boolean> {
  const startedAt = performance.now();
  let hourMs: number | null;
  try {
    hourMs = await packMarkedHour(database, nowMs);
  } catch (error) {
    if (sqlStateOf(error) !== NO_PARTITION) throw error;
    // The service was away for so long that the partition of that day was dropped.
    const mark = await readMark(runOn(database.pool), '');
    await createPartitions(database, mark?.at ?? nowMs);
    hourMs = await packMarkedHour(database, nowMs);
  }
  if (hourMs === null) return false;
  await emptyBatches(database, hourMs, nowMs + performance.now() - startedAt);
  return true;
}

/** Packs the marked hour and returns it; null if there is none to pack. */
async function packMarkedHour(database: Pick<Database, 'pool'>, nowMs: number): Promise<number | null> {
  return await inTransaction(database, async (_, client) => {
    const run = runOn(client, MAX_STATEMENT_MS);
    const mark = await readMark(run, 'FOR UPDATE SKIP LOCKED');
    if (mark === undefined) return null;
    const endMs = mark.at + HOUR_MS;
    const closedMs = endMs + HOUR_MS + LATE_AFTER_MS;
    if (nowMs < endMs + HOUR_MS + SETTLED_AFTER_MS) return null;
    if (nowMs < closedMs + PATIENCE_MS && (await isOpenSince(run, closedMs))) return null;
    await requireRecentResults(run);
    await run(`SET LOCAL statement_timeout = ${MAX_STATEMENT_MS}`);
    for (let afterNo: number | null = 0; afterNo !== null;) afterNo = await packChunk(run, { endMs, afterNo });
    await run('UPDATE service_marks SET at = $2 WHERE name = $1', [PACKED_MARK, endMs]);
    return mark.at;
  });
}

async function readMark(run: Run, lock: string): Promise<{ at: number } | undefined> {
  const [mark] = await run<{ at: number }>(`SELECT at FROM service_marks WHERE name = $1 ${lock}`, [PACKED_MARK]);
  return mark;
}

/**
 * Packs the results before `endMs` of the next monitors by number, and returns the last of them; null if there are
 * none. Rows restored after a clock was set back may be from any earlier hour. If a check was made and evaluated twice
 * concurrently, its steady result is dropped.
 */
async function packChunk(run: Run, { endMs, afterNo }: { endMs: number; afterNo: number }): Promise<number | null> {
  const [chunk] = await run<{ lastNo: number | null }>(
    `WITH chunk AS (
       SELECT max(no) AS last_no FROM (SELECT no FROM monitors WHERE no > $2 ORDER BY no LIMIT ${CHUNK}) m
     ), taken AS (
       DELETE FROM recent_results WHERE due_at < $1 AND monitor_no > $2
         AND monitor_no <= coalesce((SELECT last_no FROM chunk), ${2 ** 31 - 1}) RETURNING *
     ), packed AS (
       INSERT INTO packed_results
         (at, monitor_no, agent_no, http_status, first_second, last_second, seconds, latencies_ms, timings)
       SELECT g.at, monitor_no, agent_no, http_status, g.first, g.last,
         CASE WHEN g.seconds <> (SELECT array_agg(i::smallint) FROM generate_series(g.first, g.last,
           greatest((g.last - g.first) / greatest(g.results - 1, 1), 1)) AS i) THEN g.seconds END, latencies, timings
       FROM (
         SELECT t.at, monitor_no, agent_no, http_status, min(t.second)::int AS first, max(t.second)::int AS last,
           count(*)::int AS results, array_agg(t.second ORDER BY due_at) AS seconds,
           array_agg(latency_ms ORDER BY due_at) AS latencies,
           CASE WHEN count(timings) > 0 THEN array_agg(timings ORDER BY due_at) END AS timings
         FROM taken, LATERAL (SELECT due_at / ${HOUR_MS} * ${HOUR_MS} + due_at % 1000 AS at,
           (due_at % ${HOUR_MS} / 1000)::smallint AS second) t
         WHERE NOT EXISTS (
           SELECT FROM check_results r WHERE r.monitor_no = taken.monitor_no AND r.agent_no = taken.agent_no
             AND r.due_at = taken.due_at AND r.due_at >= $1::bigint - ${HOUR_MS} AND r.due_at < $1
         )
         GROUP BY monitor_no, agent_no, t.at, http_status
       ) g ORDER BY monitor_no, agent_no, g.at
     )
     SELECT last_no AS "lastNo" FROM chunk`,
    [endMs, afterNo],
  );
  return chunk?.lastNo ?? null;
}

/**
 * Deletes the batches of a packed hour, which are no longer needed. If packing is hours late, or a long read such as a
 * backup blocks them, they stay, and are deleted with those of three hours later. They are not read first, which would
 * write each of their pages to PostgreSQL's log.
 */
async function emptyBatches(database: Pick<Database, 'pool'>, hourMs: number, nowMs: number): Promise<void> {
  if (nowMs >= hourMs + (BATCH_SLOTS - 0.1) * HOUR_MS) return;
  try {
    await inTransaction(database, async (run) => {
      await run(`SET LOCAL lock_timeout = '2s'`);
      await run(`TRUNCATE result_batches_${slotOf(hourMs)}`);
    });
  } catch (error) {
    if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
  }
}
