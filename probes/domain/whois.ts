import { forgetOldest } from '../../core/bounded-map.ts';
import type { DomainLookup, FailedLookup } from '../../core/checks/domain/facts.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { HostPort } from '../../net/host-address.ts';
import type { TcpClient } from '../../net/tcp-exchange.ts';
import { failNoTurn, type RegistryAnswer, type RegistryTurn, type RunInRegistryQueue } from './registry-queue.ts';
import { isRootsOwn, readRootReferral, readWhoisAnswer, type WhoisReading } from './whois-answer.ts';

/**
 * Dependencies of WHOIS lookups. `root` refers to the registry of a top-level domain, and `tcpToRoot` may reach
 * addresses that `tcp` may not: the operator chose the root, but strangers choose the servers it refers to (D-30).
 */
type WhoisTools = {
  root: HostPort;
  tcpToRoot: TcpClient;
  tcp: TcpClient;
  runInRegistryQueue: RunInRegistryQueue;
  now: () => number;
};

/** One WHOIS query, and the accounts that wait for it. */
type Question = RegistryTurn & { name: string };

export type AskWhois = (question: Question) => Promise<DomainLookup>;

/** The registry of a top-level domain according to the root, null if there is none, and until when that is valid. */
type Referral = { server: HostPort | null; untilMs: number };

type Answer = { outcome: 'answered'; text: string; reading: WhoisReading } | FailedLookup;

const MAX_ANSWER_BYTES = 128 * 1024;

/** Lifetime of a root referral, in milliseconds. */
const REFERRAL_LASTS_MS = DAY_MS;

/**
 * How long the root is not queried again about a top-level domain without a registry, in milliseconds. The number
 * remembered is limited, because anyone can invent one.
 */
const UNKNOWN_LASTS_MS = HOUR_MS;
const MAX_UNKNOWN = 5000;

function lifetimeOf(server: HostPort | null): number {
  return server === null ? UNKNOWN_LASTS_MS : REFERRAL_LASTS_MS;
}

/** Pause for a server that reports too many queries, in milliseconds: none names a duration. */
const PAUSE_MS = HOUR_MS;

/** Queries for servers that treat a bare name as a search, or answer it in another language. */
const QUERIES: ReadonlyMap<string, (name: string) => string> = new Map([
  ['whois.verisign-grs.com', (name) => `domain ${name}`],
  ['whois.denic.de', (name) => `-T dn,ace ${name}`],
  ['whois.jprs.jp', (name) => `${name}/e`],
]);

/**
 * Creates the WHOIS lookup (RFC 3912). The root names the registry's server, and if the registry's answer has no
 * expiry, one referral to the registrar's server is followed.
 */
export function createWhois(tools: WhoisTools): AskWhois {
  const registries = new Map<string, Referral>();
  const unknown = new Map<string, Referral>();

  const recall = (tld: string): Referral | null => {
    const referral = registries.get(tld) ?? unknown.get(tld);
    if (referral === undefined) return null;
    const leftMs = referral.untilMs - tools.now();
    // After the clock was set back, more may be left than a referral lasts.
    return leftMs > 0 && leftMs <= lifetimeOf(referral.server) ? referral : null;
  };

  const remember = (tld: string, server: HostPort | null): void => {
    for (const known of [registries, unknown]) known.delete(tld);
    (server === null ? unknown : registries).set(tld, { server, untilMs: tools.now() + lifetimeOf(server) });
    forgetOldest(unknown, MAX_UNKNOWN);
  };

  const findRegistry = async (question: Question): Promise<HostPort | DomainLookup> => {
    const tld = question.name.slice(question.name.lastIndexOf('.') + 1);
    const noRegistry = `No registry is known for .${tld}`;
    const asked = { ...question, recall: () => recall(tld) };
    const answer = recall(tld) ?? (await ask(tools.root, asked, { ...tools, tcp: tools.tcpToRoot }));
    if ('server' in answer) return answer.server ?? { outcome: 'failed', reason: noRegistry, retryAtMs: null };
    if (answer.outcome === 'failed') return answer;
    const server = readRootReferral(answer.text);
    if (server !== null || isRootsOwn(answer.text)) remember(tld, server);
    // A root without a referral may be the registry itself, if an installation configures its own.
    return server ?? conclude(answer.reading, noRegistry);
  };

  return async (question) => {
    const found = await findRegistry(question);
    if ('outcome' in found) return found;
    const answer = await ask(found, question, tools);
    if (answer.outcome === 'failed') return answer;
    const lookUp = conclude(answer.reading, "The response of the registry's WHOIS service cannot be parsed");
    const referral = answer.reading.outcome === 'registered' ? answer.reading.referral : null;
    if (
      lookUp.outcome !== 'registered' ||
      lookUp.expiresAt !== null ||
      referral === null ||
      keyOf(referral) === keyOf(found)
    )
      return lookUp;
    const more = await ask(referral, question, tools);
    if (more.outcome === 'failed') {
      const { outcome: _failed, ...expiryFailure } = more;
      return { ...lookUp, expiryFailure };
    }
    const said = more.reading.outcome === 'registered' ? more.reading : null;
    return { ...lookUp, expiresAt: said?.expiresAt ?? null, registrar: lookUp.registrar ?? said?.registrar ?? null };
  };
}

function conclude(reading: WhoisReading, otherwise: string): DomainLookup {
  if (reading.outcome === 'registered')
    return { outcome: 'registered', expiresAt: reading.expiresAt, registrar: reading.registrar };
  return reading.outcome === 'not_found'
    ? { outcome: 'not_found' }
    : { outcome: 'failed', reason: otherwise, retryAtMs: null };
}

/** Queries a server in its queue, unless `recall` has the result by then. */
async function ask<Known = never>(
  server: HostPort,
  { name, ...turn }: Question & { recall?: () => Known | null },
  tools: WhoisTools,
): Promise<Answer | Known> {
  const queued = await tools.runInRegistryQueue<Answer | Known>(keyOf(server), {
    ...turn,
    ask: (deadlineMs) => exchange(server, { name, deadlineMs }, tools),
  });
  return queued.outcome === 'answered' ? queued.result : failNoTurn(queued, tools.now());
}

async function exchange(
  server: HostPort,
  { name, deadlineMs }: { name: string; deadlineMs: number },
  { tcp, now }: WhoisTools,
): Promise<RegistryAnswer<Answer>> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const made = await tcp({
    ...server,
    payload: Buffer.from(`${(QUERIES.get(server.host) ?? String)(name)}\r\n`),
    receive(piece) {
      pieces.push(piece);
      bytes += piece.length;
      return bytes >= MAX_ANSWER_BYTES;
    },
    deadlineMs,
  });
  if (made.outcome === 'failed')
    return { result: failed(`The registry's WHOIS service: ${made.reason}`), askAgainAtMs: null };
  const text = decode(Buffer.concat(pieces));
  if (made.end === 'deadline' || text.trim() === '')
    return {
      result: failed("The registry's WHOIS service did not send a complete response in time"),
      askAgainAtMs: null,
    };
  const reading = readWhoisAnswer(text, name);
  if (reading.outcome !== 'limited') return { result: { outcome: 'answered', text, reading }, askAgainAtMs: null };
  const retryAtMs = now() + PAUSE_MS;
  return {
    result: { outcome: 'failed', reason: "The registry's WHOIS service limits how often it can be queried", retryAtMs },
    askAgainAtMs: retryAtMs,
  };
}

function failed(reason: string): Answer {
  return { outcome: 'failed', reason, retryAtMs: null };
}

/** Decodes UTF-8 if it is valid, else Latin-1, because RFC 3912 names no character set. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function keyOf({ host, port }: HostPort): string {
  return `whois:${host}:${port}`;
}
