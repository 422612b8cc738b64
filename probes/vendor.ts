import { setTimeout as pause } from 'node:timers/promises';
import {
  isSettled,
  listVendorDocuments,
  readingOf,
  type VendorDocument,
  type VendorDocumentRecord,
  type VendorDocumentStore,
  type VendorFailure,
  type VendorFormat,
  type VendorReading,
} from '../core/checks/vendor/document.ts';
import type { VendorObservation } from '../core/checks/vendor/observation.ts';
import { findVendorPage, type VendorPage } from '../core/checks/vendor/page.ts';
import type { VendorSnapshot } from '../core/checks/vendor/snapshot.ts';
import { refused, type Parsed } from '../core/foreign-text.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { SharedCalls } from '../core/shared-calls.ts';
import { within } from '../core/time.ts';
import { findRegistrableDomain } from '../net/registrable-domain.ts';
import { ComputeThread } from '../threads/compute-thread.ts';
import { createDocumentFetch, type FetchDocument } from './vendors/fetch-document.ts';
import type { ParsingTask } from './vendors/parse-thread.ts';

/**
 * Creates the probe of vendors (D-28). It shares reading the vendor's page with all other monitors of it, and waits for
 * that at most its own timeout.
 */
export function createVendorProbe(readPage: VendorPageReader): (target: CheckTarget) => Promise<VendorObservation> {
  return async ({ target, checkSpec, timeoutMs }) => {
    const measured = { type: 'vendor', startedAt: Date.now() } as const;
    const unread = (reason: string, latencyMs: number | null = null): VendorObservation => {
      return { ...measured, latencyMs, outcome: 'unread', reason };
    };
    const page = findVendorPage(target);
    if (page === null) return unread(`The vendor ${target} is no longer in the catalog`);
    // The lookup continues after a check's timeout: other checks wait for it, and the next check finds its outcome.
    const reading = await within(timeoutMs, readPage(page, checkSpec.vendor?.components ?? []), null);
    if (reading === null) return unread(`The status page was not read within ${timeoutMs} ms`);
    const { latencyMs } = reading;
    if (reading.outcome === 'failed') return unread(reading.failure.reason, latencyMs);
    return { ...measured, latencyMs, outcome: 'read', snapshot: reading.snapshot };
  };
}

/**
 * Reads a vendor's page. `components` are those that a monitor watches, `tenantId` is the tenant whose API request
 * needs it, absent for checks. Rejects only if the store does.
 */
export type VendorPageReader = (
  page: VendorPage,
  components: readonly string[],
  tenantId?: string,
) => Promise<VendorReading>;

type PageReaderOptions = { store: VendorDocumentStore; allowPrivateNetwork: boolean; now: () => number };

/** Creates the reader that all vendor checks of a process share, and all processes through the store (D-28). */
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
    // Pages of the catalog serve all tenants.
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

type DocumentReaderOptions = {
  store: VendorDocumentStore;
  fetchDocument: FetchDocument;
  parseDocument: DocumentParser;
  now: () => number;
};

/**
 * Refreshes a document if due, and returns its record. If read for a tenant's request, it is not cached in this
 * process.
 */
type ReadDocument = (document: VendorDocument, tenantId?: string) => Promise<VendorDocumentRecord>;

/**
 * Lifetime of a claim, in milliseconds. It outlasts the fetch's deadline: another process takes over only from one that
 * died.
 */
const CLAIM_MS = 10_000;
const POLL_MS = 100;

/** The meaning of AWS' events and feeds depends on the time: they are short, and parsed anew each time. */
const DEPENDS_ON_TIME: ReadonlySet<VendorFormat> = new Set<VendorFormat>(['aws-events', 'aws-feed']);

const NOTHING_TO_STORE: VendorFailure = {
  kind: 'not_a_status_page',
  reason: 'The status page responded with HTTP 304 to a first request',
};

/** Documents cached in this process in addition to the shared store: the bytes of their texts, and their number. */
const REMEMBERED_BYTES = 16 * 1024 * 1024;
const MAX_REMEMBERED = 500;

/**
 * Creates the reader of documents. In this process all readers of one wait for the same lookup, and among processes the
 * one that holds the claim fetches it. The others wait until the claim's holder has stored the result.
 */
function createDocumentReader(options: DocumentReaderOptions): ReadDocument {
  const reads = new SharedCalls(
    (document: VendorDocument, tenantId?: string) => refresh(document, tenantId, options),
    ({ url }) => url,
  );
  const remembered = new DocumentMemory({ most: MAX_REMEMBERED, mostBytes: REMEMBERED_BYTES });

  return async (document, tenantId) => {
    const known = remembered.get(document.url);
    const nowMs = options.now();
    // When the clock is set back, the times in the store are corrected, but not those remembered here.
    if (known !== undefined && known.requestedAtMs <= nowMs && isSettled(known, document, nowMs)) return known;
    const record = await reads.run(document, tenantId);
    if (tenantId === undefined) remembered.set(record);
    return record;
  };
}

/** Caches documents, and drops those stored longest ago once there are too many, or too many bytes of them. */
export class DocumentMemory {
  readonly #size: { most: number; mostBytes: number };
  readonly #documents = new Map<string, { record: VendorDocumentRecord; bytes: number }>();
  #bytes = 0;

  constructor(size: { most: number; mostBytes: number }) {
    this.#size = size;
  }

  get(url: string): VendorDocumentRecord | undefined {
    return this.#documents.get(url)?.record;
  }

  set(record: VendorDocumentRecord): void {
    if (this.get(record.url) === record) return;
    this.#forget(record.url);
    const bytes = Buffer.byteLength(JSON.stringify(record));
    this.#documents.set(record.url, { record, bytes });
    this.#bytes += bytes;
    for (const url of this.#documents.keys()) {
      if (this.#documents.size <= this.#size.most && this.#bytes <= this.#size.mostBytes) break;
      this.#forget(url);
    }
  }

  bytes(): number {
    return this.#bytes;
  }

  #forget(url: string): void {
    this.#bytes -= this.#documents.get(url)?.bytes ?? 0;
    this.#documents.delete(url);
  }
}

async function refresh(
  document: VendorDocument,
  tenantId: string | undefined,
  { store, fetchDocument, parseDocument, now }: DocumentReaderOptions,
): Promise<VendorDocumentRecord> {
  for (;;) {
    const before = await store.find(document.url);
    const nowMs = now();
    if (before !== null && isSettled(before, document, nowMs)) return before;
    if (
      await store.claim(document.url, {
        nowMs,
        untilMs: nowMs + CLAIM_MS,
        requestedBeforeMs: nowMs - document.minAgeMs,
        tenantId,
      })
    ) {
      const record = await ask(document, before, { fetchDocument, parseDocument, now });
      await store.save(record);
      return record;
    }
    await pause(POLL_MS);
  }
}

async function ask(
  document: VendorDocument,
  before: VendorDocumentRecord | null,
  { fetchDocument, parseDocument, now }: Pick<DocumentReaderOptions, 'fetchDocument' | 'parseDocument' | 'now'>,
): Promise<VendorDocumentRecord> {
  const { url } = document;
  const startedAtMs = now();
  const known = {
    url,
    snapshot: before?.snapshot ?? null,
    etag: before?.etag ?? null,
    lastModified: before?.lastModified ?? null,
    fetchedAtMs: before?.fetchedAtMs ?? null,
  };
  const fetched = await fetchDocument(
    document,
    DEPENDS_ON_TIME.has(document.format) ? { etag: null, lastModified: null } : known,
  );
  const requestedAtMs = now();
  const requested = {
    ...known,
    requestedAtMs,
    latencyMs: requestedAtMs - startedAtMs,
    failure: null,
    failures: 0,
    retryAtMs: null,
  };
  const failures = (before?.failures ?? 0) + 1;
  if (fetched.outcome === 'unchanged' && known.snapshot !== null) return { ...requested, fetchedAtMs: requestedAtMs };
  if (fetched.outcome === 'unchanged') return { ...requested, failure: NOTHING_TO_STORE, failures };
  if (fetched.outcome === 'failed') {
    return {
      ...requested,
      failure: fetched.failure,
      failures,
      retryAtMs: fetched.retryAfterMs === undefined ? null : requestedAtMs + fetched.retryAfterMs,
    };
  }
  const parsed = await parseDocument(fetched.body, document, requestedAtMs);
  if (!parsed.ok)
    return {
      ...requested,
      failure: { kind: 'not_a_status_page', reason: `The status page cannot be parsed: ${parsed.message}` },
      failures,
    };
  return {
    ...requested,
    snapshot: parsed.value,
    etag: fetched.etag,
    lastModified: fetched.lastModified,
    fetchedAtMs: requestedAtMs,
  };
}

/** Parses a document, or explains why it cannot be parsed. */
type DocumentParser = (body: Buffer, document: VendorDocument, nowMs: number) => Promise<Parsed<VendorSnapshot>>;

/** Maximum size of documents that are parsed on the event loop, in a few milliseconds at worst. */
const ON_THE_LOOP_BYTES = 32 * 1024;

const TOO_BUSY: Parsed<VendorSnapshot> = refused(
  'there was no CPU time left to read it: too many other pages take long to read',
);

/**
 * Creates the parser of all vendors' documents. A stranger's page of some megabytes can take seconds to parse, so that
 * happens in a thread, and pages of the catalog do not wait for it.
 */
function createDocumentParser(): DocumentParser {
  const openThread = () =>
    new ComputeThread<ParsingTask, Parsed<VendorSnapshot>>(new URL('./vendors/parse-thread.ts', import.meta.url));
  const threads = { catalog: openThread(), others: openThread() };
  return async (body, document, nowMs) => {
    if (body.length <= ON_THE_LOOP_BYTES) {
      // Parsers are loaded only where vendors are monitored.
      const { parseVendorDocument } = await import('./vendors/parse-document.ts');
      return parseVendorDocument(body, document, nowMs);
    }
    const { hostname } = new URL(document.url);
    const account = findRegistrableDomain(hostname) ?? hostname;
    const thread = document.isInCatalog ? threads.catalog : threads.others;
    const computed = await thread.run({ body, document, nowMs }, { account, bytes: body.length, takesLong: false });
    return computed?.result ?? TOO_BUSY;
  };
}
