import type { Dependency } from '../core/vendor/dependencies.ts';
import type { Run } from './sql.ts';

/**
 * The vendor monitors of those ids as they stand, by id; deleted ones are absent. Nothing is locked: their state is
 * told, not decided.
 */
export async function findDependencies(run: Run, ids: readonly string[]): Promise<Map<string, Dependency>> {
  const rows = await run<Dependency>(
    `SELECT id, name, state FROM monitors WHERE id = ANY($1::text[]) AND type = 'vendor'`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
