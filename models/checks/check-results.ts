import { encodeCause, VERDICT_CODES } from '../../core/checks/verdict.ts';
import { writeTimings } from '../../core/incidents/failure-evidence.ts';
import type { VotedResult } from '../../core/incidents/source-state.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Run } from '../sql.ts';
import { storeRecent } from './recent-results.ts';

/** One result of one source, to be stored. */
export type MeasuredResult = VotedResult & { monitorNo: number; agentNo: number };

type ResultKey = { monitor_no: number; agent_no: number; due_at: number };

/**
 * Stores results and returns the identities of those that were new: a repeated result is stored once. Those that
 * `isRecent` names are packed later, all others are rows for good.
 */
export async function storeResults(
  run: Run,
  results: readonly MeasuredResult[],
  isRecent: (result: MeasuredResult) => boolean = () => false,
): Promise<Set<string>> {
  const { recent = [], single = [] } = Object.groupBy(results, (result) => (isRecent(result) ? 'recent' : 'single'));
  const rows = [...(await storeSingle(run, single)), ...(await storeRecent(run, recent))];
  return new Set(rows.map((row) => `${row.monitor_no}/${row.agent_no}/${row.due_at}`));
}

/** A result that was packed, or is to be, is not stored a second time, whatever it says now. */
async function storeSingle(run: Run, results: readonly MeasuredResult[]): Promise<ResultKey[]> {
  if (results.length === 0) return [];
  return await run<ResultKey>(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::smallint[], $7::smallint[],
       $8::jsonb[]) AS g (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
     WHERE NOT EXISTS (
       SELECT FROM recent_results r
       WHERE r.monitor_no = g.monitor_no AND r.agent_no = g.agent_no AND r.due_at = g.due_at
     ) AND NOT EXISTS (
       SELECT FROM unpacked_results($9, $10) u
       WHERE u.monitor_no = g.monitor_no AND u.agent_no = g.agent_no AND u.due_at = g.due_at
         AND u.packed_at = g.due_at / ${HOUR_MS} * ${HOUR_MS} + g.due_at % 1000
     )
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

/** The identity of a result as `storeResults` returns it. */
export function resultIdentity(result: MeasuredResult): string {
  return `${result.monitorNo}/${result.agentNo}/${result.dueAtMs}`;
}

/**
 * What a row stores beside its columns; null = nothing. Of a result that was not up its sentence, and its cause if that
 * has no code; of dns checks the answers; of any that carries timings these, as one text, because an object would cost
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
