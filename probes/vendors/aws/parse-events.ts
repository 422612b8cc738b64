import { z } from 'zod';
import { accepted, type Parsed } from '../../../core/parsed.ts';
import { overallOf, type VendorSnapshot } from '../../../core/vendor/snapshot.ts';
import { parseJson } from '../parse-json.ts';
import { plainName, plainTitle } from '../plain-text.ts';
import { isResolved, stateOfText } from './event-text.ts';

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
  const open = read.value.filter((one) => isOpen(one, nowMs));
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

function isOpen(one: AwsEvent, nowMs: number): boolean {
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
