import { z } from 'zod';
import type { DomainLookup } from '../../core/checks/domain/facts.ts';
import { parseJson } from '../../core/foreign-text.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { readRetryAfter, type HttpClient, type HttpResponse } from '../../net/http-client.ts';
import { OFFERED_ENCODINGS } from '../../net/response-body.ts';
import { redirectTarget } from '../http/request.ts';
import { readRdapDomain } from './rdap-answer.ts';
import snapshot from './rdap-bootstrap.json' with { type: 'json' };
import { failNoTurn, type RegistryAnswer, type RegistryTurn, type RunInRegistryQueue } from './registry-queue.ts';

/** Dependencies of RDAP lookups. */
export type RdapTools = { http: HttpClient; runInRegistryQueue: RunInRegistryQueue; now: () => number };

/** One query to one RDAP service; `base` ends in a slash. */
type RdapQuestion = RegistryTurn & { name: string; base: string };

/**
 * Outcome of RDAP; `refused` marks a registry that requests a pause, unlike one with an unreadable answer, where WHOIS
 * may be tried.
 */
export type RdapOutcome = DomainLookup & { refused?: true };

type Step = { outcome: RdapOutcome } | { redirect: URL };

const MAX_REDIRECTS = 3;
/** Maximum length of a host name, in characters (RFC 1035): a longer host is none that could respond. */
const MAX_HOST = 253;
const MAX_BODY_BYTES = 512 * 1024;
const HEADERS = {
  'User-Agent': 'Spotcheck/1.0 (domain expiry check)',
  Accept: 'application/rdap+json, application/json;q=0.9',
  'Accept-Encoding': OFFERED_ENCODINGS,
};

/** Statuses with which a registry requests a pause, and its default duration in milliseconds. */
const PAUSES: ReadonlyMap<number, number> = new Map([
  [429, HOUR_MS],
  [503, 600_000],
]);
const LONGEST_PAUSE_MS = DAY_MS;

/** Queries an RDAP service for a domain (RFC 9082), following a few redirects, each through the queue of its server. */
export async function askRdap({ name, base, ...turn }: RdapQuestion, tools: RdapTools): Promise<RdapOutcome> {
  let url = new URL(`domain/${name}`, base);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const at = url;
    const queued = await tools.runInRegistryQueue(at.host, {
      ...turn,
      ask: (deadlineMs) => send(at, { name, deadlineMs }, tools),
    });
    if (queued.outcome === 'busy') return { ...failNoTurn(queued, tools.now()), refused: true };
    if ('outcome' in queued.result) return queued.result.outcome;
    url = queued.result.redirect;
  }
  return failed(`The registry's RDAP service redirected more than ${MAX_REDIRECTS} times`);
}

async function send(
  url: URL,
  { name, deadlineMs }: { name: string; deadlineMs: number },
  { http, now }: RdapTools,
): Promise<RegistryAnswer<Step>> {
  const exchange = await http({ url, method: 'GET', headers: HEADERS, deadlineMs, bodyLimit: () => MAX_BODY_BYTES });
  if (exchange.outcome === 'failed') return answered(failed(`The registry's RDAP service: ${exchange.reason}`));
  const { status, headers } = exchange;
  const pauseMs = PAUSES.get(status);
  if (pauseMs !== undefined) {
    const retryAtMs = now() + Math.min(readRetryAfter(exchange, now()) ?? pauseMs, LONGEST_PAUSE_MS);
    const outcome: RdapOutcome = {
      outcome: 'failed',
      reason: `The registry's RDAP service limits how often it can be queried (HTTP ${status})`,
      retryAtMs,
      refused: true,
    };
    return { result: { outcome }, askAgainAtMs: retryAtMs };
  }
  const redirect = redirectTarget({ status, location: headers.location }, url);
  return redirect === null || redirect.hostname.length > MAX_HOST
    ? answered(outcomeOf(exchange, name))
    : { result: { redirect }, askAgainAtMs: null };
}

function answered(outcome: RdapOutcome): RegistryAnswer<Step> {
  return { result: { outcome }, askAgainAtMs: null };
}

function outcomeOf({ status, headers, body }: HttpResponse, name: string): RdapOutcome {
  // A web server that is no longer an RDAP service responds with 404 to everything, in a page for people.
  if (status === 404 && !headers['content-type']?.includes('html')) return { outcome: 'not_found' };
  if (status !== 200) return failed(`The registry's RDAP service responded with HTTP ${status}`);
  const registration = readRdapDomain(body.toString('utf8'), name);
  return registration === null
    ? failed("The response of the registry's RDAP service cannot be parsed")
    : { outcome: 'registered', ...registration };
}

function failed(reason: string): RdapOutcome {
  return { outcome: 'failed', reason, retryAtMs: null };
}

/** Base URL of the RDAP service of each top-level domain that has one; it ends in a slash. */
type RdapServices = Readonly<Record<string, string>>;

const bootstrap = z.object({
  services: z.array(z.tuple([z.array(z.string()).min(1), z.array(z.string()).min(1)]).rest(z.unknown())).min(1),
});

/**
 * Parses IANA's registry of RDAP services (RFC 9224), preferring https. Null for a text that is not such a registry, or
 * an empty one.
 */
export function parseBootstrap(text: string): RdapServices | null {
  const read = bootstrap.safeParse(parseJson(text));
  return read.success ? servicesOf(read.data) : null;
}

/** Returns the registry as of this release. */
export function readSnapshot(): RdapServices {
  return servicesOf(bootstrap.parse(snapshot));
}

function servicesOf({ services }: z.infer<typeof bootstrap>): RdapServices {
  const entries = services.flatMap(([tlds, addresses]) => {
    const usable = addresses.filter((address) => /^https?:\/\//i.test(address) && URL.canParse(address));
    const address = usable.find((candidate) => /^https:/i.test(candidate)) ?? usable[0];
    if (address === undefined) return [];
    return tlds.map((tld) => [tld.toLowerCase(), address.endsWith('/') ? address : `${address}/`] as const);
  });
  return Object.fromEntries(entries);
}
