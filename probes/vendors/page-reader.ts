import {
  listVendorDocuments,
  readingOf,
  type VendorDocument,
  type VendorDocumentStore,
  type VendorReading,
} from '../../core/checks/vendor/document.ts';
import type { VendorPage } from '../../core/checks/vendor/page.ts';
import { createDocumentParser } from './document-parser.ts';
import { createDocumentReader } from './document-reader.ts';
import { createDocumentFetch } from './fetch-document.ts';

/**
 * Reads what a vendor's page says; `components` are those that a monitor watches, `tenantId` is whose request of the
 * API it is read for, absent for checks. Rejects only where the store does.
 */
export type VendorPageReader = (
  page: VendorPage,
  components: readonly string[],
  tenantId?: string,
) => Promise<VendorReading>;

export type PageReaderOptions = { store: VendorDocumentStore; allowPrivateNetwork: boolean; now: () => number };

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
    // What the catalogue names is of use to everybody.
    const readerTenantId = page.isInCatalogue ? undefined : tenantId;
    const reading = await readGroup(first, readerTenantId);
    if (reading.outcome === 'read') return reading;
    for (const group of standIns) {
      const instead = await readGroup(group, readerTenantId);
      if (instead.outcome === 'read') return instead;
    }
    return reading;
  };
}
