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

type DocumentReaderOptions = {
  store: VendorDocumentStore;
  fetchDocument: FetchDocument;
  parseDocument: DocumentParser;
  now: () => number;
};

/**
 * Brings a document up to date where it is due, and returns what is known of it then. Read for a request of the
 * tenant's, it is not cached in this process.
 */
type ReadDocument = (document: VendorDocument, tenantId?: string) => Promise<VendorDocumentRecord>;

/** A claim outlasts the fetch's deadline: another process takes over only from one that died. In milliseconds. */
const CLAIM_MS = 10_000;
const POLL_MS = 100;

/** What AWS' events and feeds mean changes as time passes: they are short, and read anew each time. */
const DEPENDS_ON_TIME: ReadonlySet<VendorFormat> = new Set<VendorFormat>(['aws-events', 'aws-feed']);

const NOTHING_TO_STORE: VendorFailure = {
  kind: 'not_a_status_page',
  reason: 'The status page responded with HTTP 304 to a first request',
};

/** Documents remembered in this process beside the shared store: the bytes of their texts, and how many. */
const REMEMBERED_BYTES = 16 * 1024 * 1024;
const MAX_REMEMBERED = 500;

/**
 * Makes the reader of documents. In this process everybody who wants one waits for the same lookup, and over all
 * processes the one that holds the claim fetches it. The others wait until the claim's holder has stored what came of
 * it.
 */
function createDocumentReader(options: DocumentReaderOptions): ReadDocument {
  const reads = new SharedCalls(
    (document: VendorDocument, tenantId?: string) => refresh(document, tenantId, options),
    ({ url }) => url,
  );
  const remembered = new DocumentMemory({ most: MAX_REMEMBERED, mostBytes: REMEMBERED_BYTES });

  return async (document, tenantId) => {
    const known = remembered.get(document.url);
    if (known !== undefined && isSettled(known, document, options.now())) return known;
    const record = await reads.run(document, tenantId);
    if (tenantId === undefined) remembered.set(record);
    return record;
  };
}

/** Remembers documents, and forgets what was stored longest ago once there are too many, or too many bytes of them. */
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

/** Reads what a document says, or says why it cannot be understood. */
type DocumentParser = (body: Buffer, document: VendorDocument, nowMs: number) => Promise<Parsed<VendorSnapshot>>;

/** Documents of this size are read on the event loop, in a few milliseconds at the worst. */
const ON_THE_LOOP_BYTES = 32 * 1024;

const TOO_BUSY: Parsed<VendorSnapshot> = refused(
  'there was no CPU time left to read it: too many other pages take long to read',
);

/**
 * Makes the parser of the documents of all vendors. A stranger's page of some megabytes can take seconds to read, which
 * is done in a thread, and those of the catalog do not wait for it.
 */
function createDocumentParser(): DocumentParser {
  const openThread = () =>
    new ComputeThread<ParsingTask, Parsed<VendorSnapshot>>(new URL('./vendors/parse-thread.ts', import.meta.url));
  const threads = { catalog: openThread(), others: openThread() };
  return async (body, document, nowMs) => {
    if (body.length <= ON_THE_LOOP_BYTES) {
      // Where no vendor is watched, no parser of theirs is loaded.
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
