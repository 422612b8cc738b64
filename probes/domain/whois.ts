import type { DomainLookup } from '../../core/checks/domain/facts.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { TcpClient } from '../../net/tcp-exchange.ts';
import { NO_TURN, type RegistryAnswer, type RunInRegistryQueue } from './registry-queue.ts';
import { readRootReferral, readWhoisAnswer, type WhoisReading, type WhoisServer } from './whois-answer.ts';

/**
 * What WHOIS lookups are made with. `root` refers to the registry of a top-level domain, and `tcpToRoot` may lead where
 * `tcp` may not: the operator has chosen the root, and strangers everyone it refers to (D-30).
 */
export type WhoisTools = {
  root: WhoisServer;
  tcpToRoot: TcpClient;
  tcp: TcpClient;
  runInRegistryQueue: RunInRegistryQueue;
  now: () => number;
};

export type AskWhois = (question: { name: string; deadlineAtMs: number }) => Promise<DomainLookup>;

type Answer =
  | { outcome: 'answered'; text: string; reading: WhoisReading }
  | { outcome: 'failed'; reason: string; retryAtMs: number | null };
type Question = { name: string; deadlineAtMs: number };

const MAX_ANSWER_BYTES = 128 * 1024;

/** A referral of the root holds this long, in milliseconds. */
const REFERRAL_LASTS_MS = DAY_MS;

/** A server that says it was asked too often is left alone this long, in milliseconds: none says for how long. */
const PAUSE_MS = HOUR_MS;

/** How servers want to be asked that take a bare name for a search, or answer it in another language. */
const QUERIES: Readonly<Record<string, (name: string) => string>> = {
  'whois.verisign-grs.com': (name) => `domain ${name}`,
  'whois.denic.de': (name) => `-T dn,ace ${name}`,
  'whois.jprs.jp': (name) => `${name}/e`,
};

/**
 * Makes the WHOIS lookup (RFC 3912). The root tells the registry's server, and where the registry's answer has no
 * expiry one referral to the registrar's server is followed.
 */
export function createWhois(tools: WhoisTools): AskWhois {
  const registries = new Map<string, { server: WhoisServer; untilMs: number }>();

  const findRegistry = async (question: Question): Promise<WhoisServer | DomainLookup> => {
    const tld = question.name.slice(question.name.lastIndexOf('.') + 1);
    const known = registries.get(tld);
    if (known !== undefined && known.untilMs > tools.now()) return known.server;
    const answer = await ask(tools.root, question, { ...tools, tcp: tools.tcpToRoot });
    if (answer.outcome === 'failed') return answer;
    const server = readRootReferral(answer.text);
    // A root without a referral may be the registry itself, where an installation names its own.
    if (server === null) return conclude(answer.reading, `No registry is known for .${tld}`);
    registries.set(tld, { server, untilMs: tools.now() + REFERRAL_LASTS_MS });
    return server;
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
    if (more.outcome === 'failed')
      return { ...lookUp, expiryFailure: { reason: more.reason, retryAtMs: more.retryAtMs } };
    const said = more.outcome === 'answered' && more.reading.outcome === 'registered' ? more.reading : null;
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

async function ask(server: WhoisServer, { name, deadlineAtMs }: Question, tools: WhoisTools): Promise<Answer> {
  const outcome = await tools.runInRegistryQueue(keyOf(server), deadlineAtMs, (deadlineMs) =>
    exchange(server, { name, deadlineMs }, tools),
  );
  return outcome.outcome === 'answered'
    ? outcome.result
    : {
        outcome: 'failed',
        reason: NO_TURN,
        retryAtMs: outcome.retryAtMs,
      };
}

async function exchange(
  server: WhoisServer,
  { name, deadlineMs }: { name: string; deadlineMs: number },
  { tcp, now }: WhoisTools,
): Promise<RegistryAnswer<Answer>> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const made = await tcp({
    ...server,
    payload: Buffer.from(`${(QUERIES[server.host] ?? String)(name)}\r\n`),
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

/** RFC 3912 names no character set: UTF-8 where it is that, else Latin-1. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function keyOf({ host, port }: WhoisServer): string {
  return `whois:${host}:${port}`;
}
