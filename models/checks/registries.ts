import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/**
 * What a conditional request for the registry of RDAP services needs, and when the last answer came (Unix
 * milliseconds).
 */
export type BootstrapState = { etag: string | null; lastModified: string | null; checkedAtMs: number };

/** The RDAP service of a top-level domain: null = it has none, undefined = no registry is stored. */
export async function findRdapService(database: Database, tld: string): Promise<string | null | undefined> {
  const [row] = await runOn(database.pool)<{ address: string | null }>(
    'SELECT services ->> $1 AS address FROM rdap_bootstrap',
    [tld],
  );
  return row?.address;
}

/** When and by which marks the registry of RDAP services was last read; null = never. */
export async function findBootstrapState(database: Database): Promise<BootstrapState | null> {
  const [row] = await runOn(database.pool)<{ etag: string | null; last_modified: string | null; checked_at: number }>(
    'SELECT etag, last_modified, checked_at FROM rdap_bootstrap',
  );
  return row === undefined ? null : { etag: row.etag, lastModified: row.last_modified, checkedAtMs: row.checked_at };
}

/** Stores a freshly read registry of RDAP services in place of the old one. */
export async function storeBootstrap(
  database: Database,
  { services, ...state }: BootstrapState & { services: Readonly<Record<string, string>> },
): Promise<void> {
  await runOn(database.pool)(
    `INSERT INTO rdap_bootstrap (services, etag, last_modified, checked_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (only_one) DO UPDATE SET services = excluded.services, etag = excluded.etag,
       last_modified = excluded.last_modified, checked_at = excluded.checked_at`,
    [JSON.stringify(services), state.etag, state.lastModified, state.checkedAtMs],
  );
}

/** Records that the stored registry of RDAP services is still the newest. */
export async function updateBootstrapCheckedAt(database: Database, nowMs: number): Promise<void> {
  await runOn(database.pool)('UPDATE rdap_bootstrap SET checked_at = $1', [nowMs]);
}

/**
 * Takes the one turn at a server until `untilMs`: null = taken; otherwise the moment before which the server does not
 * want to be queried. Times are Unix milliseconds.
 */
export async function acquireRegistry(
  database: Database,
  server: string,
  { nowMs, untilMs }: { nowMs: number; untilMs: number },
): Promise<number | null> {
  const run = runOn(database.pool);
  const taken = await run<{ server: string }>(
    `INSERT INTO registry_turns (server, held_until, free_at) VALUES ($1, $3, 0)
     ON CONFLICT (server) DO UPDATE SET held_until = excluded.held_until
       WHERE greatest(registry_turns.held_until, registry_turns.free_at) <= $2
     RETURNING server`,
    [server, nowMs, untilMs],
  );
  if (taken.length > 0) return null;
  const [row] = await run<{ free_at: number }>('SELECT free_at FROM registry_turns WHERE server = $1', [server]);
  return row?.free_at ?? nowMs;
}

/** Forgets servers that have been free to ask since before `beforeMs`; returns how many. */
export async function deleteIdleRegistries(database: Database, beforeMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM registry_turns WHERE greatest(held_until, free_at) < $1 RETURNING 1) SELECT ' +
      'count(*) AS deleted FROM gone',
    [beforeMs],
  );
  return row?.deleted ?? 0;
}

/** Gives back the turn that was taken until `untilMs`; a turn that was lost to another by then stays the other's. */
export async function releaseRegistry(
  database: Database,
  server: string,
  { untilMs, freeAtMs }: { untilMs: number; freeAtMs: number },
): Promise<void> {
  await runOn(database.pool)(
    'UPDATE registry_turns SET free_at = greatest(free_at, $3), held_until = CASE held_until WHEN $2::bigint ' +
      'THEN 0 ELSE held_until END WHERE server = $1',
    [server, untilMs, freeAtMs],
  );
}
