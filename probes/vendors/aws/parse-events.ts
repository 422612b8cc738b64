import { z } from 'zod';
import { overallOf, type VendorSnapshot, type VendorState } from '../../../core/checks/vendor/snapshot.ts';
import { accepted, type Parsed } from '../../../core/foreign-text.ts';
import { DAY_MS } from '../../../core/time.ts';
import { parseJson } from '../parse-json.ts';
import { parseRss } from '../parse-rss.ts';
import { plainName, plainTitle } from '../plain-text.ts';

/**
 * A feed keeps old entries, also of events whose end the vendor never entered: after a week without a word an event is
 * over. In milliseconds.
 */
const FORGOTTEN_MS = 7 * DAY_MS;

/** AWS' feed of one service in one region, whose newest entry says how it is. */
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
 * Numbers of AWS' come as numbers here and as texts there. Its numeric states are not read at all: they are used in
 * more than one sense.
 */
const seconds = z.coerce.number();

const event = z.object({
  service: z.string(),
  service_name: text,
  region_name: text,
  summary: text,
  end_time: seconds.nullish(),
  event_log: z.array(z.object({ summary: text, message: text, timestamp: seconds })).nullish(),
  impacted_services: z.record(z.string(), z.object({ service_name: text })).nullish(),
});

type AwsEvent = z.output<typeof event>;

const SERVICE_AND_REGION = /^(?<service>.+)-(?<region>(?:us-gov|[a-z]{2})-[a-z]+-\d)$/;

/**
 * AWS' public list of current events, of which those count that have no end behind them and do not call themselves
 * resolved.
 */
export function parseAwsEvents(body: Buffer, { nowMs }: { nowMs: number }): Parsed<VendorSnapshot> {
  const read = parseJson(body, z.array(event));
  if (!read.ok) return read;
  const open = read.value.filter((one) => isUnderWay(one, nowMs));
  const components = open.flatMap(componentsOf);
  return accepted({
    name: null,
    // What is well is not listed, so that one part more stands for all of it.
    overall:
      components.length === 0 ? 'operational' : overallOf(['operational', ...components.map((one) => one.state)]),
    components,
    listsAll: false,
    events: open.map((one) => ({ title: titleOf(one), componentIds: componentsOf(one).map(({ id }) => id) })),
  });
}

function isUnderWay(one: AwsEvent, nowMs: number): boolean {
  // An end that the vendor has not entered yet may be left out, null, empty or 0.
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

/** `ec2-us-east-1` is `ec2:us-east-1`; an event of several services that names none hits its whole region. */
function componentId(key: string, namesNoOther: boolean): string {
  const { service = key, region = 'global' } = SERVICE_AND_REGION.exec(key)?.groups ?? {};
  return `${service === 'multipleservices' && namesNoOther ? '*' : service}:${region}`;
}

function titleOf(one: AwsEvent): string {
  return plainTitle(one.summary === '' ? `${one.service_name} ${one.region_name}` : one.summary);
}

const RESOLVED = /^\s*\[resolved\]|operating normally/i;
const OUTAGE = /\b(?:service disruption|outage|unavailab\w*|disrupted)\b/i;

/** True for the title of an event that is over. */
function isResolved(title: string): boolean {
  return RESOLVED.test(title);
}

/** How bad an open event is, by the words of its title. */
function stateOfText(title: string): VendorState {
  return OUTAGE.test(title) ? 'major' : 'degraded';
}
