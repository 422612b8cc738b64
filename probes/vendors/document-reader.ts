import { setTimeout as pause } from 'node:timers/promises';
import { isSettled } from '../../core/vendor/document.ts';
import type { VendorDocument, VendorDocumentRecord, VendorDocumentStore, VendorFailure, VendorFormat } from '../../core/vendor/document.ts';
import type { DocumentParser } from './document-parser.ts';
import type { FetchDocument } from './fetch-document.ts';

export type DocumentReaderOptions = { store: VendorDocumentStore; fetchDocument: FetchDocument; parseDocument: DocumentParser; now: () => number };

/** Brings a document up to date where it is due, and returns what is known of it then. */
export type ReadDocument = (document: VendorDocument) => Promise<VendorDocumentRecord>;

/** A claim outlasts the fetch's deadline: another process takes over only from one that died. In milliseconds. */
const CLAIM_MS = 10_000;
const LOOK_AGAIN_MS = 100;

/** What AWS' events and feeds mean changes as time passes: they are short, and read anew each time. */
const DEPENDS_ON_TIME: ReadonlySet<VendorFormat> = new Set<VendorFormat>(['aws-events', 'aws-feed']);

const NOTHING_TO_KEEP: VendorFailure = { kind: 'not_a_status_page', reason: 'The status page answers HTTP 304 to a first request' };

/** Documents remembered in this process beside the shared store. */
const MOST_REMEMBERED = 500;

/**
 * Makes the reader of documents: in this process everybody who wants one waits for the same look, and over all processes the one that
 * holds the claim fetches it. The others wait until the claim's holder has stored what came of it.
 */
export function createDocumentReader(options: DocumentReaderOptions): ReadDocument {
  const underWay = new Map<string, Promise<VendorDocumentRecord>>();
  const remembered = new Map<string, VendorDocumentRecord>();

  const remember = (record: VendorDocumentRecord) => {
    remembered.delete(record.url);
    remembered.set(record.url, record);
    const [oldest] = remembered.keys();
    if (remembered.size > MOST_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    return record;
  };

  return async (document) => {
    const known = remembered.get(document.url);
    if (known !== undefined && isSettled(known, document, options.now())) return known;
    const look = underWay.get(document.url) ?? refresh(document, options).then(remember).finally(() => underWay.delete(document.url));
    underWay.set(document.url, look);
    return await look;
  };
}

async function refresh(document: VendorDocument, { store, fetchDocument, parseDocument, now }: DocumentReaderOptions): Promise<VendorDocumentRecord> {
  for (;;) {
    const before = await store.find(document.url);
    const nowMs = now();
    if (before !== null && isSettled(before, document, nowMs)) return before;
    if (await store.claim(document.url, { nowMs, untilMs: nowMs + CLAIM_MS, askedBeforeMs: nowMs - document.minAgeMs })) {
      const record = await ask(document, before, { fetchDocument, parseDocument, now });
      await store.save(record);
      return record;
    }
    await pause(LOOK_AGAIN_MS);
  }
}

async function ask(
  document: VendorDocument,
  before: VendorDocumentRecord | null,
  { fetchDocument, parseDocument, now }: Pick<DocumentReaderOptions, 'fetchDocument' | 'parseDocument' | 'now'>,
): Promise<VendorDocumentRecord> {
  const { url } = document;
  const startedAtMs = now();
  const known = { url, snapshot: before?.snapshot ?? null, etag: before?.etag ?? null, lastModified: before?.lastModified ?? null, fetchedAtMs: before?.fetchedAtMs ?? null };
  const fetched = await fetchDocument(url, DEPENDS_ON_TIME.has(document.format) ? { etag: null, lastModified: null } : known);
  const askedAtMs = now();
  const asked = { ...known, askedAtMs, latencyMs: askedAtMs - startedAtMs, failure: null, failures: 0, retryAtMs: null };
  const failures = (before?.failures ?? 0) + 1;
  if (fetched.outcome === 'unchanged' && known.snapshot !== null) return { ...asked, fetchedAtMs: askedAtMs };
  if (fetched.outcome === 'unchanged') return { ...asked, failure: NOTHING_TO_KEEP, failures };
  if (fetched.outcome === 'failed') {
    return { ...asked, failure: fetched.failure, failures, retryAtMs: fetched.retryAfterMs === undefined ? null : askedAtMs + fetched.retryAfterMs };
  }
  const parsed = await parseDocument(fetched.body, document, askedAtMs);
  if (!parsed.ok) return { ...asked, failure: { kind: 'not_a_status_page', reason: `The status page cannot be understood: ${parsed.message}` }, failures };
  return { ...asked, snapshot: parsed.value, etag: fetched.etag, lastModified: fetched.lastModified, fetchedAtMs: askedAtMs };
}
