import { findVendorPage } from '../../core/vendor/page.ts';
import type { VendorPageReader } from '../../probes/vendors/page-reader.ts';
import { QUEUES } from '../../queues/names.ts';
import type { LookupJob } from '../../queues/payloads.ts';
import type { Runtime } from '../runtime.ts';

/** Lookups under way at a time: each waits for a vendor's server. */
const LOOKUPS_AT_ONCE = 10;

/** A request waits a few seconds for its lookup: what a killed worker leaves behind is of no use. */
const LOCK_MS = 15_000;

/**
 * Works on the pages that the form of a monitor needs; what a page says is found in the shared store
 * afterwards.
 */
export function workOnLookups(
  { backend, log }: Pick<Runtime, 'backend' | 'log'>,
  readPage: VendorPageReader,
): { stop: () => Promise<void> } {
  const worker = backend.createWorker<LookupJob>(
    QUEUES.lookup,
    async (job) => {
      const page = findVendorPage(job.data.target);
      if (page === null) return { outcome: 'unknown' };
      const reading = await readPage(page, [], job.data.tenantId);
      return reading.outcome === 'read'
        ? { outcome: 'read', components: reading.snapshot.components.length }
        : { outcome: 'failed', reason: reading.failure.reason };
    },
    {
      concurrency: LOOKUPS_AT_ONCE,
      lockDurationMs: LOCK_MS,
      onFailed: (job, error) => log.error({ err: error, job_id: job?.id }, 'lookup.failed'),
    },
  );
  return { stop: () => worker.close() };
}
