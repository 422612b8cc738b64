import { HOUR_MS } from '../../time.ts';
import type { VendorPage } from './page.ts';
import { mergeSnapshots, type VendorSnapshot } from './snapshot.ts';

/** The forms of the documents behind vendors' pages; each has a parser of its own. */
export type VendorFormat =
  | 'statuspage-summary'
  | 'instatus-summary'
  | 'instatus-components'
  | 'aws-events'
  | 'aws-feed'
  | 'google-incidents'
  | 'google-products'
  | 'azure-feed';

/** One document of a page. It is asked for at most once in `minAgeMs` milliseconds, however many monitors watch it. */
export type VendorDocument = {
  url: string;
  format: VendorFormat;
  minAgeMs: number;
  /** For AWS' feeds: the `service:region` that the feed is about. */
  component?: string;
  /** The bound of what is stored of it, as JSON in bytes. */
  maxStoredBytes: number;
  /** Whether the catalog names it, and not a customer. */
  isInCatalog: boolean;
};

/**
 * Why a document could not be read: no server answered, or the answer is not a status page of the expected form.
 * `reason` is a sentence for people.
 */
export type VendorFailure = { kind: 'unreachable' | 'not_a_status_page'; reason: string };

/**
 * What is known of a document: its newest good content, and how the newest attempt went. Times are Unix milliseconds.
 */
export type VendorDocumentRecord = {
  url: string;
  /** Null until it has been read once. */
  snapshot: VendorSnapshot | null;
  etag: string | null;
  lastModified: string | null;
  /** When it was last seen to be as in `snapshot`. */
  fetchedAtMs: number | null;
  /** When the newest attempt ended. */
  requestedAtMs: number;
  /** How long the newest attempt took, in milliseconds. */
  latencyMs: number;
  /** Of the newest attempt; null when it was good. */
  failure: VendorFailure | null;
  /** Attempts in a row that failed. */
  failures: number;
  /** The server asked to be left alone until then; null = it did not. */
  retryAtMs: number | null;
};

/** What a page says, or why that is not known. `latencyMs` is that of its slowest document. */
export type VendorReading =
  | { outcome: 'read'; snapshot: VendorSnapshot; latencyMs: number }
  | { outcome: 'failed'; failure: VendorFailure; latencyMs: number | null };

/** The store by which processes share documents, so that each is fetched once for all of them. */
export type VendorDocumentStore = {
  find(url: string): Promise<VendorDocumentRecord | null>;
  /**
   * Makes the caller the one that fetches until `untilMs`; false when another one is fetching, or has asked since
   * `requestedBeforeMs`. A page that a `tenantId` reads for a request of the API counts for that tenant, until a check
   * reads it.
   */
  claim(
    url: string,
    claim: { nowMs: number; untilMs: number; requestedBeforeMs: number; tenantId?: string | undefined },
  ): Promise<boolean>;
  /** Stores the outcome of an attempt and ends the claim. */
  save(record: VendorDocumentRecord): Promise<void>;
};

/** Pages of the catalog are watched by many; a page that a customer names may be the customer's own. */
const CATALOG_MIN_AGE_MS = 30_000;
const OTHER_MIN_AGE_MS = 5000;
/** Less is stored of a page that a customer names: its author is unknown. 400 components, which is many, take 40 kB. */
const CATALOG_SIZE = { maxStoredBytes: 512 * 1024 };
const OTHER_SIZE = { maxStoredBytes: 128 * 1024 };

/** New products come a few times a year. */
const PRODUCTS_MIN_AGE_MS = 6 * HOUR_MS;

/**
 * A page's last content bridges one or two failed attempts. It may be no older than this, in milliseconds, or than two
 * of its own intervals.
 */
const BRIDGED_FAILURES = 2;
const BRIDGED_MS = 60_000;

/** AWS' feeds stand in for its events only for this many components: each is a request. */
const MAX_FEEDS = 10;

/** The documents to read a page from, in groups: a later group stands in where the one before cannot be read. */
export function listVendorDocuments(
  { adapter, pageUrl, probeUrl, isInCatalog }: VendorPage,
  components: readonly string[],
): VendorDocument[][] {
  const limits = isInCatalog
    ? { isInCatalog, minAgeMs: CATALOG_MIN_AGE_MS, ...CATALOG_SIZE }
    : { isInCatalog, minAgeMs: OTHER_MIN_AGE_MS, ...OTHER_SIZE };
  switch (adapter) {
    case 'statuspage':
    case 'incidentio':
      return [[{ ...limits, url: probeUrl, format: 'statuspage-summary' }]];
    case 'instatus':
      return [
        [
          { ...limits, url: probeUrl, format: 'instatus-summary' },
          { ...limits, url: `${pageUrl}/v2/components.json`, format: 'instatus-components' },
        ],
      ];
    case 'aws':
      return [[{ ...limits, url: probeUrl, format: 'aws-events' }], ...awsFeeds(components, limits)];
    case 'google-cloud':
      return [
        [
          { ...limits, url: probeUrl, format: 'google-incidents' },
          { ...limits, url: `${pageUrl}/products.json`, format: 'google-products', minAgeMs: PRODUCTS_MIN_AGE_MS },
        ],
      ];
    case 'azure':
      return [[{ ...limits, url: probeUrl, format: 'azure-feed' }]];
    default:
      return adapter satisfies never;
  }
}

type DocumentLimits = Pick<VendorDocument, 'minAgeMs' | 'maxStoredBytes' | 'isInCatalog'>;

function awsFeeds(components: readonly string[], limits: DocumentLimits): VendorDocument[][] {
  if (components.length === 0 || components.length > MAX_FEEDS) return [];
  return [
    components.map((component) => ({
      ...limits,
      url: `https://status.aws.amazon.com/rss/${component.replace(':global', '').replace(':', '-')}.rss`,
      format: 'aws-feed',
      component,
    })),
  ];
}

/** True while a document need not, or must not, be asked for again. */
export function isSettled(record: VendorDocumentRecord, { minAgeMs }: VendorDocument, nowMs: number): boolean {
  return nowMs - record.requestedAtMs < minAgeMs || nowMs < (record.retryAtMs ?? 0);
}

/** What some documents say together: all of them must be there. */
export function readingOf(
  documents: readonly { document: VendorDocument; record: VendorDocumentRecord }[],
  nowMs: number,
): VendorReading {
  const latencyMs = Math.max(...documents.map(({ record }) => record.latencyMs));
  const snapshots: VendorSnapshot[] = [];
  for (const { document, record } of documents) {
    if (record.failure !== null && !isBridged(record, document, nowMs))
      return { outcome: 'failed', failure: record.failure, latencyMs };
    if (record.snapshot !== null) snapshots.push(record.snapshot);
  }
  return { outcome: 'read', snapshot: mergeSnapshots(snapshots), latencyMs };
}

function isBridged(
  { failures, snapshot, fetchedAtMs }: VendorDocumentRecord,
  { minAgeMs }: VendorDocument,
  nowMs: number,
): boolean {
  return (
    snapshot !== null &&
    failures <= BRIDGED_FAILURES &&
    nowMs - (fetchedAtMs ?? 0) <= Math.max(BRIDGED_MS, 2 * minAgeMs)
  );
}
