import type { Run } from './sql.ts';

/**
 * Notes that one of the service's own duties was done now, and returns since when it has been done without a gap longer than
 * `maxGapMs` (Unix milliseconds): after a stretch in which we stood still, that is now.
 */
export async function markDone(run: Run, mark: { name: string; nowMs: number; maxGapMs: number }): Promise<number> {
  const [row] = await run<{ resumed_at: number }>(
    `INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2)
     ON CONFLICT (name) DO UPDATE SET
       resumed_at = CASE WHEN $2::bigint - service_marks.at > $3::bigint THEN $2 ELSE service_marks.resumed_at END,
       at = greatest(service_marks.at, $2)
     RETURNING resumed_at`,
    [mark.name, mark.nowMs, mark.maxGapMs],
  );
  return row?.resumed_at ?? mark.nowMs;
}
