import type { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsAnswers } from '../../core/checks/dns/observation.ts';
import type { DnsRecordType } from '../../core/checks/dns/records.ts';
import { startDeadline } from '../../net/timeline.ts';
import { ask } from './ask.ts';
import type { ResolverPool } from './resolver-pool.ts';

/** Questions about one name. */
export type DnsQuestion = { name: string; types: readonly DnsRecordType[] };

/**
 * Questions, whom to put them to (servers of equal rank, at least one, as `address` or `address:port`) and by what
 * means. Milliseconds for everything, at most 10,000.
 */
export type DnsInquiry = DnsQuestion & { servers: readonly string[]; resolvers: ResolverPool; deadlineMs: number };

/** The first repetition comes after a quarter of the time, at most after this; each further pause is twice as long. */
const MAX_FIRST_PAUSE_MS = 1000;

/**
 * Puts questions until each is answered or the deadline passes. Packets get lost: rounds follow one another, each to
 * the next server, and an answer to an earlier round counts for as long as it may still come. A server's failure is
 * final once each has been asked.
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
      if (this.#resolvers.length < this.#inquiry.servers.length) return this.#askNext();
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
