import type { DomainFacts } from '../../core/checks/domain/facts.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

type DomainRow = Omit<DomainFacts, 'registration'> & {
  isRegistered: boolean;
  expiresAt: number | null;
  registrar: string | null;
};

/** What is known of those of these domains that anything is known of. */
export async function listDomains(database: Database, names: readonly string[]): Promise<DomainFacts[]> {
  const rows = await runOn(database.pool)<DomainRow>(
    `SELECT name, is_registered AS "isRegistered", expires_at AS "expiresAt", registrar,
            not_found_since AS "notFoundSinceMs", answered_at AS "answeredAtMs", failures, failure,
            next_look_at AS "nextLookupAtMs"
     FROM domains WHERE name = ANY($1::text[])`,
    [names],
  );
  return rows.map(factsOf);
}

/** What is known of a domain; null = nothing. */
export async function findDomain(database: Database, name: string): Promise<DomainFacts | null> {
  const [facts] = await listDomains(database, [name]);
  return facts ?? null;
}

/**
 * Claims the lookup of a domain that is due; false when another holds it, or it is due no more. Times are Unix
 * milliseconds.
 */
export async function claimDomain(
  database: Database,
  name: string,
  { nowMs, untilMs }: { nowMs: number; untilMs: number },
): Promise<boolean> {
  const rows = await runOn(database.pool)<{ name: string }>(
    `INSERT INTO domains (name, claimed_until) VALUES ($1, $3)
     ON CONFLICT (name) DO UPDATE SET claimed_until = excluded.claimed_until WHERE domains.claimed_until <= $2
       AND domains.next_look_at <= $2
     RETURNING name`,
    [name, nowMs, untilMs],
  );
  return rows.length > 0;
}

/** Stores what is known of a domain after a lookup, and ends its claim. */
export async function storeDomain(database: Database, facts: DomainFacts): Promise<void> {
  const { name, registration, notFoundSinceMs, answeredAtMs, failures, failure, nextLookupAtMs } = facts;
  await runOn(database.pool)(
    `INSERT INTO domains (name, is_registered, expires_at, registrar, not_found_since, answered_at, failures, failure,
     next_look_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (name) DO UPDATE SET
       is_registered = excluded.is_registered, expires_at = excluded.expires_at, registrar = excluded.registrar,
         not_found_since = excluded.not_found_since,
       answered_at = excluded.answered_at, failures = excluded.failures, failure = excluded.failure,
         next_look_at = excluded.next_look_at, claimed_until = 0`,
    [
      name,
      registration !== null,
      registration?.expiresAt,
      registration?.registrar,
      notFoundSinceMs,
      answeredAtMs,
      failures,
      failure,
      nextLookupAtMs,
    ],
  );
}

/** Deletes what is known of domains that no check has used since `beforeMs`; returns how many. */
export async function deleteOldDomains(database: Database, beforeMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM domains WHERE next_look_at < $1 AND claimed_until < $1 RETURNING 1) SELECT ' +
      'count(*) AS deleted FROM gone',
    [beforeMs],
  );
  return row?.deleted ?? 0;
}

function factsOf({ isRegistered, expiresAt, registrar, ...facts }: DomainRow): DomainFacts {
  return { ...facts, registration: isRegistered ? { expiresAt, registrar } : null };
}
