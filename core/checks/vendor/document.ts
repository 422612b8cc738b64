import { HOUR_MS } from '../../time.ts';
import type { VendorPage } from './page.ts';
import { mergeSnapshots, type VendorSnapshot } from './snapshot.ts';

/** Formats of the documents behind vendors' pages; each has its own parser. */
export type VendorFormat =
  | 'statuspage-summary'
  | 'instatus-summary'
  | 'instatus-components'
  | 'aws-events'
  | 'aws-feed'
  | 'google-incidents'
  | 'google-products'
  | 'azure-feed';

/**
 * One document of a page. It is requested at most once in `minAgeMs` milliseconds, regardless of the number of
 * monitors.
 */
export type VendorDocument = {
  url: string;
  format: VendorFormat;
  minAgeMs: number;
  /** For AWS' feeds: the `service:region` of the feed. */
  component?: string;
  /** Maximum size of its stored JSON, in bytes. */
  maxStoredBytes: number;
  /** Whether it comes from the catalog rather than from a customer. */
  isInCatalog: boolean;
};

/**
 * Why a document could not be read: no server responded, or the response is not a status page of the expected form.
 * `reason` is a sentence for people.
 */
export type VendorFailure = { kind: 'unreachable' | 'not_a_status_page'; reason: string };

/** Stored record of a document: its newest valid content, and the newest attempt. Times are Unix milliseconds. */
export type VendorDocumentRecord = {
  url: string;
  /** Null until the first success. */
  snapshot: VendorSnapshot | null;
  etag: string | null;
  lastModified: string | null;
  /** When the document was last confirmed to match `snapshot`. */
  fetchedAtMs: number | null;
  /** End of the newest attempt. */
  requestedAtMs: number;
  /** Duration of the newest attempt, in milliseconds. */
  latencyMs: number;
  /** Failure of the newest attempt; null if it succeeded. */
  failure: VendorFailure | null;
  /** Failed attempts in a row. */
  failures: number;
  /** Time before which the server wants no further request; null = none given. */
  retryAtMs: number | null;
};

/** Contents of a page, or why they are unknown. `latencyMs` is that of its slowest document. */
export type VendorReading =
  | { outcome: 'read'; snapshot: VendorSnapshot; latencyMs: number }
  | { outcome: 'failed'; failure: VendorFailure; latencyMs: number | null };

/** Store through which processes share documents, so that each is fetched once for all of them. */
export type VendorDocumentStore = {
  find(url: string): Promise<VendorDocumentRecord | null>;
  /**
   * Makes the caller the only one to fetch until `untilMs`; false if another one is fetching, or has made a request
   * since `requestedBeforeMs`. A page that a `tenantId` reads for an API request counts for that tenant, until a check
   * reads it.
   */
  claim(
    url: string,
    claim: { nowMs: number; untilMs: number; requestedBeforeMs: number; tenantId?: string | undefined },
  ): Promise<boolean>;
  /** Stores the outcome of an attempt and ends the claim. */
  save(record: VendorDocumentRecord): Promise<void>;
};

/** Many monitors share pages of the catalog; a page that a customer names may be the customer's own. */
const CATALOG_MIN_AGE_MS = 30_000;
const OTHER_MIN_AGE_MS = 5000;
/**
 * The limit of a page that a customer names is lower: its author is unknown. 400 components, which is many, take 40 kB.
 */
const CATALOG_SIZE = { maxStoredBytes: 512 * 1024 };
const OTHER_SIZE = { maxStoredBytes: 128 * 1024 };

/** New products are added a few times a year. */
const PRODUCTS_MIN_AGE_MS = 6 * HOUR_MS;

/**
 * A page's last content is still used after one or two failed attempts. It may be no older than this, in milliseconds,
 * or than two of the page's own intervals.
 */
const BRIDGED_FAILURES = 2;
const BRIDGED_MS = 60_000;

/** Maximum number of components for which AWS' feeds replace its events: each is a request. */
const MAX_FEEDS = 10;

/** Lists the documents of a page, in groups: a later group is used if the one before cannot be read. */
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

/** Reports whether a document need not, or must not, be requested again yet. */
export function isSettled(record: VendorDocumentRecord, { minAgeMs }: VendorDocument, nowMs: number): boolean {
  return nowMs - record.requestedAtMs < minAgeMs || nowMs < (record.retryAtMs ?? 0);
}

/** Combines the contents of some documents: all of them must be available. */
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
