import { encodeCause, VERDICT_CODES } from '../core/cause-code.ts';
import type { VotedResult } from '../core/source-state.ts';
import type { Database } from './database.ts';
import { inPoolTransaction, runWith, type Run } from './sql.ts';

/** One result of one source, to be stored. */
export type MeasuredResult = VotedResult & { monitorNo: number; agentNo: number };

const DAY_MS = 86_400_000;

/** Days of partitions that exist ahead of today. */
const DAYS_AHEAD = 3;

/** SQLSTATE of a row for which no partition exists. */
export const NO_PARTITION = '23514';

/** Stores results with one statement and returns the identities of those that were new: a repeated result is stored once. */
export async function storeResults(run: Run, results: readonly MeasuredResult[]): Promise<Set<string>> {
  const rows = await run<{ monitor_no: number; agent_no: number; due_at: number }>(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::smallint[], $7::smallint[], $8::jsonb[])
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
    ],
  );
  return new Set(rows.map((row) => `${row.monitor_no}/${row.agent_no}/${row.due_at}`));
}

/** The identity of a result as `storeResults` returns it. */
export function resultIdentity(result: MeasuredResult): string {
  return `${result.monitorNo}/${result.agentNo}/${result.dueAtMs}`;
}

/** Makes the partitions of the UTC days around `nowMs`: yesterday (late results) to three days ahead. Existing ones stay. */
export async function createPartitions(database: Database, nowMs: number): Promise<void> {
  const today = Math.floor(nowMs / DAY_MS);
  await inPoolTransaction(database, async (run) => {
    // Of two processes that create a table at once one fails, IF NOT EXISTS or not.
    await run(`SELECT pg_advisory_xact_lock(hashtextextended('partitions', 0))`);
    for (let day = today - 1; day <= today + DAYS_AHEAD; day += 1) {
      await run(`CREATE TABLE IF NOT EXISTS ${partitionName(day)} PARTITION OF check_results FOR VALUES FROM (${day * DAY_MS}) TO (${(day + 1) * DAY_MS})`);
    }
  });
}

/** Drops the partitions whose newest row is older than `keepDays`; returns their names. */
export async function dropOldPartitions(database: Database, nowMs: number, keepDays: number): Promise<string[]> {
  const oldest = partitionName(Math.floor(nowMs / DAY_MS) - keepDays);
  const rows = await runWith(database)<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'check_results'::regclass AND c.relname < $1 ORDER BY 1`,
    [oldest],
  );
  for (const { name } of rows) await runWith(database)(`DROP TABLE IF EXISTS ${name}`);
  return rows.map(({ name }) => name);
}

/** `check_results_20261121`: names sort as days do. */
function partitionName(day: number): string {
  return `check_results_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

/** Kept for what was not up: the sentence, and the cause where it has no code. */
function detailOf(result: MeasuredResult): string | null {
  if (result.verdict === 'up') return null;
  const uncoded = result.cause !== null && encodeCause(result.cause) === null;
  return JSON.stringify({ reason: result.reason, ...(uncoded && { cause: result.cause }) });
}
