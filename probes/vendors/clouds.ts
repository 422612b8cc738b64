import { XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import { overallOf, type VendorSnapshot, type VendorState } from '../../core/checks/vendor/snapshot.ts';
import { accepted, refused, type Parsed } from '../../core/foreign-text.ts';
import { DAY_MS } from '../../core/time.ts';
import { decodeText, listOf, readJson, plainName, plainTitle, stateWord } from './document-text.ts';

/**
 * Azure writes it at the start of a title or as its last part; "resolved in North Europe, continues in West Europe" is
 * not over.
 */
const AZURE_RESOLVED = /^\s*[[(]?\s*resolved\b\s*[\])]|[-–—:]\s*resolved\s*$/i;

/**
 * Parses Azure's feed of current events, which names neither a severity nor components: any event degrades the whole,
 * none takes it down.
 */
export function parseAzureFeed(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseRss(body);
  if (!read.ok) return read;
  const open = read.value.items.filter(({ title }) => title.trim() !== '' && !AZURE_RESOLVED.test(title));
  return accepted({
    name: null,
    overall: open.length === 0 ? 'operational' : 'degraded',
    components: [],
    listsAll: true,
    events: open.map(({ title }) => ({ title: plainTitle(title), componentIds: [] })),
  });
}

/** One entry of a feed; the date is null if it cannot be parsed. Unix milliseconds. */
type RssItem = { title: string; publishedAtMs: number | null };

/** An element that is empty, or has attributes or markup inside, counts as empty text. */
const elementText = z.unknown().transform((value) => (typeof value === 'string' ? value : ''));

const feed = z.object({
  rss: z.object({
    channel: z.object({
      title: z.string(),
      item: z
        .array(z.object({ title: elementText, pubDate: elementText }))
        .optional()
        .default([]),
    }),
  }),
});

/**
 * Parses an RSS 2.0 feed: its channel must have a title, which error and login pages lack. A feed without items is
 * valid.
 */
function parseRss(body: Buffer): Parsed<{ items: RssItem[] }> {
  const xml = decodeText(body);
  // No feed declares its own entities: one that does is an expansion attack.
  if (/<!DOCTYPE/i.test(xml)) return refused('it is not an RSS feed');
  const parser = new XMLParser({ parseTagValue: false, isArray: (name) => name === 'item' });
  let value: unknown;
  try {
    value = parser.parse(xml, true);
  } catch {
    return refused('it is not XML');
  }
  const read = feed.safeParse(value);
  if (!read.success) return refused('it is not an RSS feed');
  return accepted({
    items: read.data.rss.channel.item.map(({ title, pubDate }) => ({ title, publishedAtMs: readDate(pubDate) })),
  });
}

function readDate(date: string): number | null {
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * Age without updates after which an event counts as over, in milliseconds. A feed keeps old entries, even of events
 * whose end the vendor never entered.
 */
const FORGOTTEN_MS = 7 * DAY_MS;

/** Parses AWS' feed of one service in one region, whose newest entry gives its state. */
export function parseAwsFeed(
  body: Buffer,
  { nowMs, component = '' }: { nowMs: number; component?: string },
): Parsed<VendorSnapshot> {
  const read = parseRss(body);
  if (!read.ok) return read;
  const newest = read.value.items.toSorted((a, b) => (b.publishedAtMs ?? 0) - (a.publishedAtMs ?? 0))[0];
  const isOpen =
    newest !== undefined && !isResolved(newest.title) && nowMs - (newest.publishedAtMs ?? nowMs) < FORGOTTEN_MS;
  const state = isOpen ? stateOfText(newest.title) : 'operational';
  return accepted({
    name: null,
    overall: null,
    components: [{ id: component, name: component, state }],
    listsAll: true,
    events: isOpen ? [{ title: plainTitle(newest.title), componentIds: [component] }] : [],
  });
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');

/**
 * AWS writes numbers as numbers here and as text there. Its numeric states are not read at all, because their meaning
 * varies.
 */
const seconds = z.coerce.number();

const event = z.object({
  service: z.string(),
  service_name: text,
  region_name: text,
  summary: text,
  end_time: seconds.nullish(),
  event_log: listOf(z.object({ summary: text, message: text, timestamp: seconds })).nullish(),
  impacted_services: z.record(z.string(), z.object({ service_name: text })).nullish(),
});

type AwsEvent = z.output<typeof event>;

const SERVICE_AND_REGION = /^(?<service>.+)-(?<region>(?:us-gov|[a-z]{2})-[a-z]+-\d)$/;

/**
 * Parses AWS' public list of current events. An event counts if its end has not passed and it is not called resolved.
 */
export function parseAwsEvents(body: Buffer, { nowMs }: { nowMs: number }): Parsed<VendorSnapshot> {
  const read = readJson(body, listOf(event));
  if (!read.ok) return read;
  const open = read.value.filter((one) => isUnderWay(one, nowMs));
  const components = open.flatMap(componentsOf);
  return accepted({
    name: null,
    // Healthy components are not listed, so one additional component represents them.
    overall:
      components.length === 0 ? 'operational' : overallOf(['operational', ...components.map((one) => one.state)]),
    components,
    listsAll: false,
    events: open.map((one) => ({ title: titleOf(one), componentIds: componentsOf(one).map(({ id }) => id) })),
  });
}

function isUnderWay(one: AwsEvent, nowMs: number): boolean {
  // A missing end may be absent, null, empty or 0.
  const endMs = (one.end_time ?? 0) * 1000;
  const hasEnded = endMs > 0 && endMs <= nowMs;
  return !hasEnded && !isResolved(one.summary) && !isResolved(newestEntry(one)?.summary ?? '');
}

function newestEntry({ event_log: log }: AwsEvent) {
  return log?.toSorted((a, b) => b.timestamp - a.timestamp)[0];
}

function componentsOf(one: AwsEvent) {
  const entry = newestEntry(one);
  const state = stateOfText(`${one.summary} ${entry?.summary ?? ''}`);
  const impacted = Object.entries(one.impacted_services ?? {}).map(
    ([service, { service_name: name }]) => [service, name] as const,
  );
  return [...new Map([[one.service, one.service_name] as const, ...impacted])].map(([service, name]) => {
    const id = componentId(service, impacted.length === 0);
    return { id, name: name === '' ? id : `${plainName(name)} (${id.slice(id.indexOf(':') + 1)})`, state };
  });
}

/**
 * Converts `ec2-us-east-1` to `ec2:us-east-1`; an event of several services that names none affects its whole region.
 */
function componentId(key: string, namesNoOther: boolean): string {
  const { service = key, region = 'global' } = SERVICE_AND_REGION.exec(key)?.groups ?? {};
  return `${service === 'multipleservices' && namesNoOther ? '*' : service}:${region}`;
}

function titleOf(one: AwsEvent): string {
  return plainTitle(one.summary === '' ? `${one.service_name} ${one.region_name}` : one.summary);
}

const AWS_RESOLVED = /^\s*\[resolved\]|operating normally/i;
const OUTAGE = /\b(?:service disruption|outage|unavailab\w*|disrupted)\b/i;

/** Reports whether a title is that of an event that is over. */
function isResolved(title: string): boolean {
  return AWS_RESOLVED.test(title);
}

/** Returns the severity of an open event, by the words of its title. */
function stateOfText(title: string): VendorState {
  return OUTAGE.test(title) ? 'major' : 'degraded';
}

const productList = z.object({ products: listOf(z.object({ id: z.string(), title: z.string() })) });

/** Parses Google Cloud's list of products, whether or not they have problems. */
export function parseGoogleProducts(body: Buffer): Parsed<VendorSnapshot> {
  const read = readJson(body, productList);
  if (!read.ok) return read;
  return accepted({
    name: null,
    overall: null,
    components: read.value.products.map(({ id, title }) => ({
      id,
      name: plainName(title),
      state: 'operational' as const,
    })),
    listsAll: true,
    events: [],
  });
}

/** Effect of an incident on its products; mere information has none. */
const impact = stateWord({
  AVAILABLE: 'operational',
  AVAILABLE_INFORMATION: 'operational',
  SERVICE_INFORMATION: 'operational',
  SERVICE_DISRUPTION: 'degraded',
  SERVICE_OUTAGE: 'major',
});

const incident = z.object({
  external_desc: z.string(),
  end: z.iso.datetime({ offset: true }).nullish(),
  status_impact: impact,
  affected_products: listOf(z.object({ id: z.string(), title: z.string() })).default([]),
  // An update may report recovery before the incident is closed.
  most_recent_update: z.object({ status: z.string().optional() }).nullish(),
});

/**
 * Parses Google Cloud's incidents, past and present. An incident is open if its end has not passed and its newest
 * update does not call the service available.
 */
export function parseGoogleIncidents(body: Buffer, { nowMs }: { nowMs: number }): Parsed<VendorSnapshot> {
  const read = readJson(body, listOf(incident));
  if (!read.ok) return read;
  const open = read.value.filter(
    ({ end, most_recent_update: update }) =>
      (typeof end !== 'string' || Date.parse(end) > nowMs) && update?.status !== 'AVAILABLE',
  );
  const harmful = open.filter(({ status_impact: state }) => state !== 'operational');
  const components = harmful.flatMap(({ affected_products: products, status_impact: state }) =>
    products.map(({ id, title }) => ({ id, name: plainName(title), state })),
  );
  return accepted({
    name: null,
    // Healthy products are not listed, so one additional component represents them.
    overall:
      harmful.length === 0
        ? 'operational'
        : overallOf(['operational', ...harmful.map(({ status_impact: state }) => state)]),
    components,
    listsAll: false,
    events: harmful.map(({ external_desc: title, affected_products: products }) => ({
      title: plainTitle(title),
      componentIds: products.map(({ id }) => id),
    })),
  });
}
