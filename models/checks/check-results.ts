import { encodeCause, VERDICT_CODES } from '../../core/checks/verdict.ts';
import { writeTimings } from '../../core/incidents/failure-evidence.ts';
import type { VotedResult } from '../../core/incidents/source-state.ts';
import type { Run } from '../sql.ts';

/** One result of one source, to be stored. */
export type MeasuredResult = VotedResult & { monitorNo: number; agentNo: number };

/**
 * Stores results with one statement and returns the identities of those that were new: a repeated result is stored
 * once.
 */
export async function storeResults(run: Run, results: readonly MeasuredResult[]): Promise<Set<string>> {
  const rows = await run<{ monitor_no: number; agent_no: number; due_at: number }>(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::smallint[], $7::smallint[],
       $8::jsonb[])
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
