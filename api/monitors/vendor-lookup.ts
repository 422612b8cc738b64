import { setTimeout as pause } from 'node:timers/promises';
import {
  listVendorDocuments,
  readingOf,
  type VendorDocument,
  type VendorDocumentRecord,
  type VendorReading,
} from '../../core/checks/vendor/document.ts';
import type { Parts } from '../dependencies.ts';

export type VendorLookupOptions = {
  listRecords: (urls: readonly string[]) => Promise<VendorDocumentRecord[]>;
  enqueueLookup: (target: string, tenantId: string) => Promise<void>;
  now: () => number;
};

/**
 * What a page lists changes rarely: what it said within the last ten minutes is good enough to hold names against. In
 * milliseconds.
 */
const GOOD_FOR_NAMES_MS = 600_000;

/**
 * How long a request waits for a worker that reads the page, in milliseconds: longer than the worker takes, shorter
 * than a client's patience.
 */
const PATIENCE_MS = 8000;
const POLL_MS = 100;

const UNANSWERED: VendorReading = {
  outcome: 'failed',
  failure: { kind: 'unreachable', reason: 'The status page was not read in time' },
  latencyMs: null,
};

/**
 * Makes the function that has a page read by a worker, for the API asks no stranger's server itself, and waits for what
 * comes of it.
 */
export function createVendorLookup({
  listRecords,
  enqueueLookup,
  now,
}: VendorLookupOptions): Parts<'readVendorPage'>['readVendorPage'] {
  return async (page, { tenantId, freshMs = GOOD_FOR_NAMES_MS }) => {
    const [documents = []] = listVendorDocuments(page, []);
    const readKnown = async () => pair(documents, await listRecords(documents.map(({ url }) => url)));
    const startedAtMs = now();
    const known = await readKnown();
    if (known?.every(({ record }) => record.failure === null && startedAtMs - (record.fetchedAtMs ?? 0) < freshMs))
      return readingOf(known, startedAtMs);
    try {
      await enqueueLookup(page.isInCatalogue ? page.vendorId : page.pageUrl, tenantId);
    } catch {
      return UNANSWERED;
    }
    for (;;) {
      const lookup = await readKnown();
      if (lookup?.every((one) => isAnswer(one, startedAtMs))) return readingOf(lookup, now());
      if (Math.abs(now() - startedAtMs) >= PATIENCE_MS) return UNANSWERED;
      await pause(POLL_MS);
    }
  };
}

type Known = { document: VendorDocument; record: VendorDocumentRecord };

/** Null until each of the documents has been asked for once. */
function pair(documents: readonly VendorDocument[], records: readonly VendorDocumentRecord[]): Known[] | null {
  const known = documents.flatMap((document) =>
    records.filter(({ url }) => url === document.url).map((record) => ({ document, record })),
  );
  return known.length === documents.length ? known : null;
}

/** A worker leaves alone what was asked for a moment ago, and a server that sent us away. */
function isAnswer({ document, record }: Known, startedAtMs: number): boolean {
  return record.requestedAtMs > startedAtMs - document.minAgeMs || startedAtMs < (record.retryAtMs ?? 0);
}
