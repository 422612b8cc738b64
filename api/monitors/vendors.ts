import { setTimeout as pause } from 'node:timers/promises';
import { VENDORS, type Vendor, type VendorAdapter } from '../../core/checks/vendor/catalog.ts';
import {
  listVendorDocuments,
  readingOf,
  type VendorDocument,
  type VendorDocumentRecord,
  type VendorReading,
} from '../../core/checks/vendor/document.ts';
import { findVendorPage, pageOf, type VendorPage } from '../../core/checks/vendor/page.ts';
import { unknownVendor } from '../../core/monitors/input/vendor.ts';
import { badRequest } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

function presentVendor(vendor: Vendor): Schemas['Vendor'] {
  return { id: vendor.id, name: vendor.name, page_url: pageOf(vendor).pageUrl };
}

const LISTS: Readonly<Partial<Record<VendorAdapter, Schemas['VendorPage']['lists']>>> = {
  aws: 'troubled',
  azure: 'none',
};

/** Returns the components of a vendor's page, or the reason why they could not be read. */
function presentVendorPage(page: VendorPage, reading: VendorReading): Schemas['VendorPage'] {
  const snapshot = reading.outcome === 'read' ? reading.snapshot : null;
  return {
    id: page.vendorId,
    name: page.isInCatalog ? page.name : (snapshot?.name ?? page.name),
    page_url: page.pageUrl,
    lists: LISTS[page.adapter] ?? 'all',
    components: (snapshot?.components ?? []).map(({ id, name, state }) => ({ id, name, state })),
    failure: reading.outcome === 'failed' ? reading.failure.reason : null,
  };
}

/** Maximum age of the states in a form, in milliseconds: older ones may be outdated. */
const FRESH_MS = 60_000;

/** `GET /vendors` */
export function listVendorsHandler(): Handler<'listVendors'> {
  const vendors = VENDORS.toSorted((a, b) => a.name.localeCompare(b.name, 'en')).map(presentVendor);
  return (_request, response) => {
    response.json({ vendors });
  };
}

/** `GET /vendors/components` */
export function listVendorComponentsHandler({
  readVendorPage,
  rateLimits,
}: Parts<'readVendorPage' | 'rateLimits'>): Handler<'listVendorComponents'> {
  return async (request, response) => {
    const { target } = request.query;
    const page = findVendorPage(target);
    if (page === null) throw badRequest(unknownVendor(target));
    const { tenantId } = callerOf(response);
    if (!page.isInCatalog) await rateLimits.take('page', tenantId);
    response.json(presentVendorPage(page, await readVendorPage(page, { tenantId, freshMs: FRESH_MS })));
  };
}

type VendorLookupOptions = {
  listRecords: (urls: readonly string[]) => Promise<VendorDocumentRecord[]>;
  enqueueLookup: (target: string, tenantId: string) => Promise<void>;
  now: () => number;
};

/** Maximum age of a page's list for validating names, in milliseconds: the listed names rarely change. */
const GOOD_FOR_NAMES_MS = 600_000;

/**
 * Time that a request waits for a worker to read the page, in milliseconds: longer than the worker takes, shorter than
 * a client waits.
 */
const PATIENCE_MS = 8000;
const POLL_MS = 100;

const UNANSWERED: VendorReading = {
  outcome: 'failed',
  failure: { kind: 'unreachable', reason: 'The status page could not be read in time' },
  latencyMs: null,
};

/**
 * Makes the function that has a worker read a page, and waits for the result. The API itself sends no requests to
 * third-party servers.
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
      await enqueueLookup(page.isInCatalog ? page.vendorId : page.pageUrl, tenantId);
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

/** Pairs documents with their records; null until each document has been requested once. */
function pair(documents: readonly VendorDocument[], records: readonly VendorDocumentRecord[]): Known[] | null {
  const known = documents.flatMap((document) =>
    records.filter(({ url }) => url === document.url).map((record) => ({ document, record })),
  );
  return known.length === documents.length ? known : null;
}

/**
 * Reports whether a record answers this lookup. Workers skip documents requested a moment ago, and servers that asked
 * to retry later.
 */
function isAnswer({ document, record }: Known, startedAtMs: number): boolean {
  return record.requestedAtMs > startedAtMs - document.minAgeMs || startedAtMs < (record.retryAtMs ?? 0);
}
