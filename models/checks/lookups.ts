import type { DomainFacts } from '../../core/checks/domain/facts.ts';
import type { VendorDocumentRecord, VendorDocumentStore } from '../../core/checks/vendor/document.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

type DomainRow = Omit<DomainFacts, 'registration'> & {
  isRegistered: boolean;
  expiresAt: number | null;
  registrar: string | null;
};

/** Returns the stored data of these domains, as far as there is any. */
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

/** Finds the stored data of a domain; null if there is none. */
export async function findDomain(database: Database, name: string): Promise<DomainFacts | null> {
  const [facts] = await listDomains(database, [name]);
  return facts ?? null;
}

/**
 * Claims the due lookup of a domain; false if another process holds it, or it is no longer due. Times are Unix
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

/** Stores the data of a domain after a lookup, and ends its claim. */
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

/** Deletes the data of domains that no check has used since `beforeMs`; returns their number. */
export async function deleteOldDomains({ pool }: Database, beforeMs: number): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM domains WHERE next_look_at < $1 AND claimed_until < $1', [
    beforeMs,
  ]);
  return rowCount ?? 0;
}

function factsOf({ isRegistered, expiresAt, registrar, ...facts }: DomainRow): DomainFacts {
  return { ...facts, registration: isRegistered ? { expiresAt, registrar } : null };
}

/**
 * Validators for a conditional request of the registry of RDAP services, and the time of the last response (Unix
 * milliseconds).
 */
export type BootstrapState = { etag: string | null; lastModified: string | null; checkedAtMs: number };

/** Finds the RDAP service of a top-level domain: null = it has none, undefined = no registry is stored. */
export async function findRdapService(database: Database, tld: string): Promise<string | null | undefined> {
  const [row] = await runOn(database.pool)<{ address: string | null }>(
    'SELECT services ->> $1 AS address FROM rdap_bootstrap',
    [tld],
  );
  return row?.address;
}

/** Returns when the registry of RDAP services was last read, and its validators; null = never. */
export async function findBootstrapState(database: Database): Promise<BootstrapState | null> {
  const [row] = await runOn(database.pool)<{ etag: string | null; last_modified: string | null; checked_at: number }>(
    'SELECT etag, last_modified, checked_at FROM rdap_bootstrap',
  );
  return row === undefined ? null : { etag: row.etag, lastModified: row.last_modified, checkedAtMs: row.checked_at };
}

/** Stores a newly read registry of RDAP services in place of the old one. */
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

/** Records that the stored registry of RDAP services is still current. */
export async function updateBootstrapCheckedAt(database: Database, nowMs: number): Promise<void> {
  await runOn(database.pool)('UPDATE rdap_bootstrap SET checked_at = $1', [nowMs]);
}

/**
 * Locks a server until `untilMs`: null = locked; otherwise the time before which the server does not accept queries.
 * Times are Unix milliseconds.
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

/** Deletes servers that have been free since before `beforeMs`; returns their number. */
export async function deleteIdleRegistries({ pool }: Database, beforeMs: number): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM registry_turns WHERE greatest(held_until, free_at) < $1', [
    beforeMs,
  ]);
  return rowCount ?? 0;
}

/** Releases the lock that was taken until `untilMs`; one that another process has taken since remains. */
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

/** Maximum number of stored documents of unmonitored pages per tenant: more than a minute's reads. */
const MAX_UNWATCHED = 12;

/** Returns the records of the documents at some URLs; one that was never requested is absent. */
export async function listVendorDocumentRecords(
  database: Database,
  urls: readonly string[],
): Promise<VendorDocumentRecord[]> {
  const { rows } = await database.pool.query<VendorDocumentRecord>({
    name: 'list-vendor-pages',
    text: `SELECT url, snapshot, etag, last_modified AS "lastModified", fetched_at AS "fetchedAtMs",
             asked_at AS "requestedAtMs", latency_ms AS "latencyMs", failure, failures, retry_at AS "retryAtMs"
           FROM vendor_pages WHERE url = ANY($1::text[]) AND asked_at IS NOT NULL`,
    values: [urls],
  });
  return rows;
}

/** Makes the store of vendors' documents that all processes share. */
export function createVendorDocumentStore(database: Database): VendorDocumentStore {
  return {
    async find(url) {
      const [record] = await listVendorDocumentRecords(database, [url]);
      return record ?? null;
    },
    async claim(url, { nowMs, untilMs, requestedBeforeMs, tenantId = null }) {
      const { rowCount } = await database.pool.query(
        `INSERT INTO vendor_pages (url, claimed_until, reader_tenant_id) VALUES ($1, $3, $5)
         ON CONFLICT (url) DO UPDATE SET claimed_until = $3, reader_tenant_id = CASE
           WHEN $5::text IS NOT NULL THEN vendor_pages.reader_tenant_id END
           WHERE coalesce(vendor_pages.claimed_until, 0) <= $2 AND coalesce(vendor_pages.asked_at, 0) <= $4
             AND coalesce(vendor_pages.retry_at, 0) <= $2`,
        [url, nowMs, untilMs, requestedBeforeMs, tenantId],
      );
      return rowCount === 1;
    },
    async save(record) {
      await database.pool.query(
        `UPDATE vendor_pages SET snapshot = $2, etag = $3, last_modified = $4, fetched_at = $5, asked_at = $6,
         latency_ms = $7, failure = $8,
                failures = least($9::int, 1000), retry_at = $10, claimed_until = NULL
         WHERE url = $1`,
        [
          record.url,
          record.snapshot === null ? null : JSON.stringify(record.snapshot),
          record.etag,
          record.lastModified,
          record.fetchedAtMs,
          record.requestedAtMs,
          Math.round(record.latencyMs),
          record.failure === null ? null : JSON.stringify(record.failure),
          record.failures,
          record.retryAtMs,
        ],
      );
      await deleteOldestUnwatched(database, record.url, record.requestedAtMs);
    },
  };
}

/**
 * Deletes all but the newest unmonitored pages of the tenant that the page at `url` counts for, if any. Keeps those
 * being read.
 */
async function deleteOldestUnwatched(database: Database, url: string, nowMs: number): Promise<void> {
  await database.pool.query(
    `DELETE FROM vendor_pages WHERE url IN (
       SELECT url FROM vendor_pages WHERE reader_tenant_id = (SELECT reader_tenant_id FROM vendor_pages WHERE url = $1)
         AND coalesce(claimed_until, 0) <= $2
       ORDER BY asked_at DESC NULLS LAST OFFSET ${MAX_UNWATCHED})`,
    [url, nowMs],
  );
}

/**
 * Deletes pages not used since `beforeMs`, and unmonitored ones not used since `unwatchedBeforeMs`; returns the number
 * of rows.
 */
export async function deleteUnusedVendorPages(
  database: Database,
  beforeMs: number,
  unwatchedBeforeMs: number,
): Promise<number> {
  const { rowCount } = await database.pool.query(
    'DELETE FROM vendor_pages WHERE coalesce(asked_at, claimed_until) < CASE WHEN reader_tenant_id IS NULL THEN ' +
      '$1::bigint ELSE $2::bigint END',
    [beforeMs, unwatchedBeforeMs],
  );
  return rowCount ?? 0;
}
