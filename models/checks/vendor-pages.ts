import type { VendorDocumentRecord, VendorDocumentStore } from '../../core/checks/vendor/document.ts';
import type { Database } from '../database.ts';

/** Stored documents of unwatched pages, of one tenant: more than a minute's reads. */
const MOST_UNWATCHED = 12;

/** What is known of the documents at some URLs; one that was never asked for is absent. */
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

/** The documents of vendors' pages as all processes share them. */
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
 * Deletes all but the newest unwatched pages of the tenant that the page at `url` counts for, if any. Those that are
 * being read stay.
 */
async function deleteOldestUnwatched(database: Database, url: string, nowMs: number): Promise<void> {
  await database.pool.query(
    `DELETE FROM vendor_pages WHERE url IN (
       SELECT url FROM vendor_pages WHERE reader_tenant_id = (SELECT reader_tenant_id FROM vendor_pages WHERE url = $1)
         AND coalesce(claimed_until, 0) <= $2
       ORDER BY asked_at DESC NULLS LAST OFFSET ${MOST_UNWATCHED})`,
    [url, nowMs],
  );
}

/**
 * Deletes what was not used since `beforeMs`, and of unwatched pages what was not used since
 * `unwatchedBeforeMs`; returns how many rows that were.
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
