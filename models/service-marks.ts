import type { Database } from './database.ts';
import type { Run } from './sql.ts';

/** The service's own doings whose newest moment is kept: looks at ourselves, checks, batches of results, and what is due. */
export const MARKS = { sweep: 'sweep', checks: 'checks', evaluation: 'evaluation', due: 'due' } as const;

/** What a process notes of itself. */
export type NotedDoing = 'checks' | 'evaluation';

/** When we last looked at ourselves, in Unix milliseconds; null = never. */
export async function findLastSweep(run: Run): Promise<number | null> {
  const [mark] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [MARKS.sweep]);
  return mark?.at ?? null;
}

/**
 * Notes that something of the kind was done (Unix milliseconds); never moves back. Not forced to disk: a mark that a crash of PostgreSQL
 * loses is older than the truth by what its clients did not see either.
 */
export async function markDone(database: Database, name: NotedDoing, nowMs: number): Promise<void> {
  await database.pool.query({
    name: 'mark-done',
    text: `INSERT INTO service_marks (name, at, resumed_at) SELECT $1::text, $2::bigint, $2::bigint WHERE set_config('synchronous_commit', 'off', true) = 'off'
           ON CONFLICT (name) DO UPDATE SET at = greatest(service_marks.at, excluded.at)`,
    values: [name, nowMs],
  });
}
