import type { VendorDocument, VendorFormat } from '../../core/checks/vendor/document.ts';
import type { VendorSnapshot } from '../../core/checks/vendor/snapshot.ts';
import { accepted, type Parsed } from '../../core/foreign-text.ts';
import { parseAwsEvents, parseAwsFeed, parseAzureFeed, parseGoogleIncidents, parseGoogleProducts } from './clouds.ts';
import { plainName } from './document-text.ts';
import { parseInstatusComponents, parseInstatusSummary, parseStatuspageSummary } from './status-pages.ts';

type ParseDocument = (body: Buffer, context: { nowMs: number; component?: string }) => Parsed<VendorSnapshot>;

const PARSERS = {
  'statuspage-summary': parseStatuspageSummary,
  'instatus-summary': parseInstatusSummary,
  'instatus-components': parseInstatusComponents,
  'aws-events': parseAwsEvents,
  'aws-feed': parseAwsFeed,
  'google-incidents': parseGoogleIncidents,
  'google-products': parseGoogleProducts,
  'azure-feed': parseAzureFeed,
} as const satisfies Record<VendorFormat, ParseDocument>;

/** Limits of the parts that a stranger's page can make Spotcheck store; no vendor has more. */
const MAX_COMPONENTS = 2000;
const MAX_EVENTS = 50;

/** Parses a document into the common form, or explains why it does not have its expected form. */
export function parseVendorDocument(
  body: Buffer,
  { format, component, maxStoredBytes }: VendorDocument,
  nowMs: number,
): Parsed<VendorSnapshot> {
  const parse: ParseDocument = PARSERS[format];
  const read = parse(body, { nowMs, ...(component !== undefined && { component }) });
  if (!read.ok) return read;
  const { components, events, ...rest } = read.value;
  const snapshot: VendorSnapshot = {
    ...rest,
    components: components.slice(0, MAX_COMPONENTS).map((one) => ({ ...one, id: plainName(one.id) })),
    events: events
      .slice(0, MAX_EVENTS)
      .map((one) => ({ ...one, componentIds: one.componentIds.slice(0, MAX_COMPONENTS).map(plainName) })),
  };
  return accepted(cutToSize(snapshot, maxStoredBytes));
}

/** Cuts a snapshot to size by dropping its last components and events. */
function cutToSize(snapshot: VendorSnapshot, mostBytes: number): VendorSnapshot {
  if (sizeOf(snapshot) <= mostBytes) return snapshot;
  const events = cutList(snapshot.events, mostBytes / 4);
  return {
    ...snapshot,
    events,
    components: cutList(snapshot.components, mostBytes - sizeOf({ ...snapshot, events, components: [] })),
  };
}

function cutList<Item>(items: readonly Item[], mostBytes: number): Item[] {
  let left = mostBytes;
  return items.filter((item) => {
    // One byte for the comma between two items.
    left -= sizeOf(item) + 1;
    return left >= 0;
  });
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
