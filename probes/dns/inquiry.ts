import type { CaaRecord } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsAnswers, DnsFailure } from '../../core/checks/dns/observation.ts';
import { normaliseDnsRecord, type DnsRecordType } from '../../core/checks/dns/records.ts';
import { startDeadline } from '../../net/timeline.ts';

/** Queries for one name. */
export type DnsQuestion = { name: string; types: readonly DnsRecordType[] };

/**
 * Queries, the servers to send them to (of equal rank, at least one, as `address` or `address:port`), and the resolvers
 * to use. `deadlineMs` covers everything, at most 10,000.
 */
type DnsInquiry = DnsQuestion & { servers: readonly string[]; resolvers: ResolverPool; deadlineMs: number };

/**
 * Maximum of the first pause, in milliseconds, which is otherwise a quarter of the time; each further pause is twice as
 * long.
 */
const MAX_FIRST_PAUSE_MS = 1000;

/** Maximum further servers that are queried without a pause after failures. */
const MAX_FURTHER_SERVERS = 4;

/**
 * Sends queries until each is answered or the deadline passes. Packets get lost, so rounds follow one another, each to
 * the next server, and a late answer to an earlier round still counts. A server's failure is final once every server
 * was queried, or four after the first.
 */
export function inquire(inquiry: DnsInquiry): Promise<DnsAnswers> {
  return new Promise((resolve, reject) => new RunningInquiry(inquiry, { resolve, reject }).start());
}

type Settle = { resolve: (answers: DnsAnswers) => void; reject: (error: unknown) => void };

class RunningInquiry {
  readonly #inquiry: DnsInquiry;
  readonly #settle: Settle;
  /** One for each round so far. */
  readonly #resolvers: Resolver[] = [];
  readonly #answers = new Map<DnsRecordType, DnsAnswer>();
  /** Types without a final answer, each with the number of rounds that have not failed yet. */
  readonly #open: Map<DnsRecordType, number>;
  #callOffDeadline: () => void = () => {};
  #repetition: NodeJS.Timeout | undefined;

  constructor(inquiry: DnsInquiry, settle: Settle) {
    this.#inquiry = inquiry;
    this.#settle = settle;
    this.#open = new Map(inquiry.types.map((type) => [type, 0]));
  }

  start(): void {
    const { deadlineMs } = this.#inquiry;
    this.#askNext();
    this.#callOffDeadline = startDeadline(deadlineMs, () => this.#finish());
    this.#repeatAfter(Math.min(deadlineMs / 4, MAX_FIRST_PAUSE_MS));
  }

  #repeatAfter(pauseMs: number): void {
    this.#repetition = setTimeout(() => {
      this.#repeatAfter(pauseMs * 2);
      this.#askNext();
    }, pauseMs);
  }

  // c-ares forgets a try when it begins the next one and ignores a late answer to it, which would make every slow
  // server a silent one. So each round has its own resolver, which tries once and then waits to the end.
  #askNext(): void {
    const { servers, resolvers } = this.#inquiry;
    const server = servers[this.#resolvers.length % servers.length];
    if (server === undefined) throw new Error('An inquiry needs a server to ask');
    const resolver = resolvers.take(server);
    this.#resolvers.push(resolver);
    for (const [type, waiting] of this.#open) {
      this.#open.set(type, waiting + 1);
      ask(resolver, { name: this.#inquiry.name, type }).then(
        (answer) => this.#take(type, answer),
        (error: unknown) => this.#fail(error),
      );
    }
  }

  #take(type: DnsRecordType, answer: DnsAnswer): void {
    const waiting = this.#open.get(type);
    if (waiting === undefined) return;
    this.#answers.set(type, answer);
    if (answer.outcome === 'failed') {
      this.#open.set(type, waiting - 1);
      if (waiting > 1) return;
      if (this.#resolvers.length < Math.min(this.#inquiry.servers.length, 1 + MAX_FURTHER_SERVERS))
        return this.#askNext();
    }
    this.#open.delete(type);
    if (this.#open.size === 0) this.#finish();
  }

  #finish(): void {
    for (const type of this.#open.keys()) {
      if (!this.#answers.has(type)) this.#answers.set(type, { outcome: 'failed', failure: 'timeout' });
    }
    this.#stop();
    this.#settle.resolve(Object.fromEntries(this.#answers));
  }

  /** Also called for canceled queries; after the settlement it has no effect. */
  #fail(error: unknown): void {
    this.#settle.reject(error);
    this.#stop();
  }

  #stop(): void {
    this.#callOffDeadline();
    clearTimeout(this.#repetition);
    this.#open.clear();
    for (const resolver of this.#resolvers.splice(0)) this.#inquiry.resolvers.giveBack(resolver);
  }
}

// Each returns its records as a zone file would write them; an empty name is the root, as in a null MX (RFC 7505).
const LOOKUPS = {
  A: (resolver, name) => resolver.resolve4(name),
  AAAA: (resolver, name) => resolver.resolve6(name),
  CNAME: (resolver, name) => resolver.resolveCname(name),
  MX: async (resolver, name) =>
    (await resolver.resolveMx(name)).map(({ priority, exchange }) => `${priority} ${exchange || '.'}`),
  NS: (resolver, name) => resolver.resolveNs(name),
  TXT: async (resolver, name) => (await resolver.resolveTxt(name)).map((strings) => strings.map(quoteString).join(' ')),
  SOA: async (resolver, name) => {
    const { nsname, hostmaster, serial, refresh, retry, expire, minttl } = await resolver.resolveSoa(name);
    return [[nsname, hostmaster, serial, refresh, retry, expire, minttl].join(' ')];
  },
  SRV: async (resolver, name) =>
    (await resolver.resolveSrv(name)).map(
      ({ priority, weight, port, name: target }) => `${priority} ${weight} ${port} ${target || '.'}`,
    ),
  CAA: async (resolver, name) => (await resolver.resolveCaa(name)).flatMap(caaTexts),
  PTR: (resolver, name) => resolver.resolvePtr(name),
} as const satisfies Record<DnsRecordType, (resolver: Resolver, name: string) => Promise<string[]>>;

const NO_RECORDS: DnsAnswer = { outcome: 'records', records: [] };

// Failures of a server, by the codes of node:dns; any other code is a fault of this machine.
const BY_CODE: Readonly<Record<string, DnsAnswer>> = {
  ENODATA: NO_RECORDS,
  ENOTFOUND: { outcome: 'nxdomain' },
  ETIMEOUT: failed('timeout'),
  ESERVFAIL: failed('servfail'),
  EREFUSED: failed('refused'),
  ECONNREFUSED: failed('unreachable'),
  EFORMERR: failed('invalid'),
  ENOTIMP: failed('invalid'),
  EBADRESP: failed('invalid'),
  EBADNAME: failed('invalid'),
  EBADSTR: failed('invalid'),
};

/**
 * Sends a resolver one query. Answers and failures of the server are values; rejects if the resolver was canceled, or
 * this machine lacks resources.
 */
export async function ask(
  resolver: Resolver,
  { name, type }: { name: string; type: DnsRecordType },
): Promise<DnsAnswer> {
  try {
    const records = (await LOOKUPS[type](resolver, name)).map((text) => normaliseDnsRecord(type, text));
    return { outcome: 'records', records: [...new Set(records)].toSorted() };
  } catch (error) {
    const answer = error instanceof Error ? BY_CODE[(error as NodeJS.ErrnoException).code ?? ''] : undefined;
    if (answer === undefined) throw error;
    return answer;
  }
}

function failed(failure: DnsFailure): DnsAnswer {
  return { outcome: 'failed', failure };
}

/** Quotes a string. Node passes bytes on as Latin-1 characters; text beyond ASCII is UTF-8 in practice. */
function quoteString(bytes: string): string {
  return `"${Buffer.from(bytes, 'latin1').toString().replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Formats a CAA record. It holds one tag, named by its key; newer versions of Node add the record's type beside it. */
function caaTexts({ critical, ...tags }: CaaRecord): string[] {
  return Object.entries(tags).flatMap(([tag, value]) =>
    tag === 'type' || value === undefined ? [] : [`${critical} ${tag} ${quoteString(value)}`],
  );
}

// The longest timeout of a check (`timeout_ms`); a caller with less time returns the resolver sooner.
const ONE_TRY = { timeout: 10_000, tries: 1 };

/**
 * The server of an idle resolver, which is never queried. Setting it makes c-ares forget how fast the last server
 * responds: c-ares gives up on a server after five times that, though it may just be slow this time.
 */
const UNREACHABLE_SERVERS = ['127.0.0.1:1'];

const KEPT_AT_MOST = 64;

/**
 * Keeps idle resolvers of one try each for reuse: creating one costs as much as its query. They hold no socket, so the
 * pool need not be closed.
 */
export class ResolverPool {
  readonly #idle: Resolver[] = [];

  /**
   * Takes a resolver for one caller and one server (`address` or `address:port`). It has never queried that server, so
   * its port is new and its timeout unshortened.
   */
  take(server: string): Resolver {
    const resolver = this.#idle.pop() ?? new Resolver(ONE_TRY);
    resolver.setServers([server]);
    return resolver;
  }

  /** Cancels the resolver's pending queries, whose promises reject, and keeps it for the next caller. */
  giveBack(resolver: Resolver): void {
    resolver.cancel();
    resolver.setServers(UNREACHABLE_SERVERS);
    if (this.#idle.length < KEPT_AT_MOST) this.#idle.push(resolver);
  }
}
