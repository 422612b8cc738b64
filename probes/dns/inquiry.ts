import type { CaaRecord } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsAnswers, DnsFailure } from '../../core/checks/dns/observation.ts';
import { normaliseDnsRecord, type DnsRecordType } from '../../core/checks/dns/records.ts';
import { startDeadline } from '../../net/timeline.ts';

/** Questions about one name. */
export type DnsQuestion = { name: string; types: readonly DnsRecordType[] };

/**
 * Questions, whom to put them to (servers of equal rank, at least one, as `address` or `address:port`) and by what
 * means. Milliseconds for everything, at most 10,000.
 */
type DnsInquiry = DnsQuestion & { servers: readonly string[]; resolvers: ResolverPool; deadlineMs: number };

/** The first repetition comes after a quarter of the time, at most after this; each further pause is twice as long. */
const MAX_FIRST_PAUSE_MS = 1000;

/** After failures so many further servers are asked at once, without a pause. */
const MAX_FURTHER_SERVERS = 4;

/**
 * Puts questions until each is answered or the deadline passes. Packets get lost: rounds follow one another, each to
 * the next server, and an answer to an earlier round counts for as long as it may still come. A server's failure is
 * final once each has been asked, or four after the first.
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
  /** Types without a final answer: how many rounds have not yet failed for each. */
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

  // c-ares forgets a try when it begins the next one and takes no late answer to it, which would turn every slow server
  // into a silent one. So each round is a resolver of its own, which tries once and then waits to the end.
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

  /** Also what cancelled questions end with; after the settlement nothing comes of it. */
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

// Each gives its records as a zone file would write them; a name of no length is the root, as in a null MX (RFC 7505).
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

// What a server can do to us, in the codes of node:dns; a code that is not here is our own trouble.
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
 * Asks a resolver one question. Whatever it answers, or fails to, is a value; rejects when the resolver was told to
 * cancel, or our own machine lacks something.
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

/** Node hands bytes on as Latin-1 characters; text beyond ASCII is UTF-8 in practice. */
function quoteString(bytes: string): string {
  return `"${Buffer.from(bytes, 'latin1').toString().replaceAll(/["\\]/g, '\\$&')}"`;
}

/** A record holds one tag, named by its key; newer versions of Node put the record's type beside it. */
function caaTexts({ critical, ...tags }: CaaRecord): string[] {
  return Object.entries(tags).flatMap(([tag, value]) =>
    tag === 'type' || value === undefined ? [] : [`${critical} ${tag} ${quoteString(value)}`],
  );
}

// The longest that a check may take (`timeout_ms`); a caller with less time gives the resolver back sooner.
const ONE_TRY = { timeout: 10_000, tries: 1 };

/**
 * The server of an idle resolver, which is never asked. Setting it makes c-ares forget how fast the last server
 * answers: c-ares gives up on a server at five times that, though this once it may just be slow.
 */
const UNREACHABLE_SERVERS = ['127.0.0.1:1'];

const KEPT_AT_MOST = 64;

/**
 * Keeps idle resolvers of one try each for reuse: making one costs as much as the query that it is for. They hold no
 * socket, so the pool need not be closed.
 */
export class ResolverPool {
  readonly #idle: Resolver[] = [];

  /**
   * Takes a resolver for one caller and one server (`address` or `address:port`). It has never asked that server: its
   * port is new, and its timeout is whole.
   */
  take(server: string): Resolver {
    const resolver = this.#idle.pop() ?? new Resolver(ONE_TRY);
    resolver.setServers([server]);
    return resolver;
  }

  /** Ends its pending queries, whose promises reject, and keeps the resolver for the next caller. */
  giveBack(resolver: Resolver): void {
    resolver.cancel();
    resolver.setServers(UNREACHABLE_SERVERS);
    if (this.#idle.length < KEPT_AT_MOST) this.#idle.push(resolver);
  }
}
