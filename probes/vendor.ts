import {
  listVendorDocuments,
  readingOf,
  type VendorDocument,
  type VendorDocumentStore,
  type VendorReading,
} from '../core/checks/vendor/document.ts';
import type { VendorObservation } from '../core/checks/vendor/observation.ts';
import { findVendorPage, type VendorPage } from '../core/checks/vendor/page.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { within } from '../core/time.ts';
import { createDocumentParser, createDocumentReader } from './vendors/document-reader.ts';
import { createDocumentFetch } from './vendors/fetch-document.ts';

/**
 * Makes the probe of vendors (D-28). It reads the vendor's page together with everybody else who watches it, and waits
 * for that no longer than its own time-out.
 */
export function createVendorProbe(readPage: VendorPageReader): (target: CheckTarget) => Promise<VendorObservation> {
  return async ({ target, checkSpec, timeoutMs }) => {
    const startedAt = Date.now();
    const page = findVendorPage(target);
    if (page === null)
      return {
        type: 'vendor',
        startedAt,
        latencyMs: null,
        outcome: 'unread',
        reason: `The vendor ${target} is no longer in the catalog`,
      };
    // The lookup goes on without a check that is out of time: others wait for it, and the next check finds its outcome.
    const reading = await within(timeoutMs, readPage(page, checkSpec.vendor?.components ?? []), null);
    if (reading === null)
      return {
        type: 'vendor',
        startedAt,
        latencyMs: null,
        outcome: 'unread',
        reason: `The status page was not read within ${timeoutMs} ms`,
      };
    const { latencyMs } = reading;
    if (reading.outcome === 'failed')
      return { type: 'vendor', startedAt, latencyMs, outcome: 'unread', reason: reading.failure.reason };
    return { type: 'vendor', startedAt, latencyMs, outcome: 'read', snapshot: reading.snapshot };
  };
}

/**
 * Reads what a vendor's page says. `components` are those that a monitor watches, `tenantId` is whose request of the
 * API it is read for, absent for checks. Rejects only where the store does.
 */
export type VendorPageReader = (
  page: VendorPage,
  components: readonly string[],
  tenantId?: string,
) => Promise<VendorReading>;

type PageReaderOptions = { store: VendorDocumentStore; allowPrivateNetwork: boolean; now: () => number };

/** Makes the reader that all vendor checks of a process share, and all processes through the store (D-28). */
export function createVendorPageReader({ store, allowPrivateNetwork, now }: PageReaderOptions): VendorPageReader {
  const readDocument = createDocumentReader({
    store,
    fetchDocument: createDocumentFetch({ allowPrivateNetwork }),
    parseDocument: createDocumentParser(),
    now,
  });
  const readGroup = async (documents: readonly VendorDocument[], tenantId: string | undefined) =>
    readingOf(
      await Promise.all(
        documents.map(async (document) => ({ document, record: await readDocument(document, tenantId) })),
      ),
      now(),
    );
  return async (page, components, tenantId) => {
    const [first = [], ...standIns] = listVendorDocuments(page, components);
    // What the catalog names is of use to everybody.
    const readerTenantId = page.isInCatalog ? undefined : tenantId;
    const reading = await readGroup(first, readerTenantId);
    if (reading.outcome === 'read') return reading;
    for (const group of standIns) {
      const instead = await readGroup(group, readerTenantId);
      if (instead.outcome === 'read') return instead;
    }
    return reading;
  };
}
