import { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsAnswers } from '../../core/dns/observation.ts';
import type { DnsRecordType } from '../../core/dns/records.ts';
import { ask } from './ask.ts';

/** Questions about one name. */
export type DnsQuestion = { name: string; types: readonly DnsRecordType[] };

/** Questions and whom to put them to: servers (`address` or `address:port`) of equal rank, at least one. Milliseconds for everything. */
export type DnsInquiry = DnsQuestion & { servers: readonly string[]; deadlineMs: number };

/** The first repetition comes after a quarter of the time, at most after this; each further pause is twice as long. */
const MAX_FIRST_PAUSE_MS = 1000;

/** Puts questions until each is answered or the deadline passes. Packets get lost: rounds follow one another, each to the next server, and an answer to an earlier round counts for as long as it may still come. A server's failure is final once each has been asked. */
export function inquire(inquiry: DnsInquiry): Promise<DnsAnswers> {
  return new Promise((resolve, reject) => new RunningInquiry(inquiry, { resolve, reject }).start());
}

type Settle = { resolve: (answers: DnsAnswers) => void; reject: (error: unknown) => void };

class RunningInquiry {
  readonly #inquiry: DnsInquiry;
  readonly #settle: Settle;
  readonly #endsAt: number;
  readonly #resolvers: Resolver[] = [];
  readonly #answers = new Map<DnsRecordType, DnsAnswer>();
  /** Types without a final answer: how many rounds have not yet failed for each. */
  readonly #open: Map<DnsRecordType, number>;
  #deadline: NodeJS.Timeout | undefined;
  #repetition: NodeJS.Timeout | undefined;

  constructor(inquiry: DnsInquiry, settle: Settle) {
    this.#inquiry = inquiry;
    this.#settle = settle;
    this.#endsAt = performance.now() + inquiry.deadlineMs;
    this.#open = new Map(inquiry.types.map((type) => [type, 0]));
  }

  start(): void {
    const { deadlineMs } = this.#inquiry;
    this.#deadline = setTimeout(() => this.#finish(), deadlineMs);
    this.#repeatAfter(Math.min(deadlineMs / 4, MAX_FIRST_PAUSE_MS));
    this.#askNext();
  }

  #repeatAfter(pauseMs: number): void {
    this.#repetition = setTimeout(() => {
      this.#repeatAfter(pauseMs * 2);
      this.#askNext();
    }, pauseMs);
  }

  // c-ares forgets a try when it begins the next one and takes no late answer to it, which would turn every slow server into a
  // silent one. So each round is a resolver of its own, which tries once and then waits to the end.
  #askNext(): void {
    const { servers } = this.#inquiry;
    const server = servers[this.#resolvers.length % servers.length];
    const resolver = new Resolver({ timeout: Math.max(1, Math.ceil(this.#endsAt - performance.now())), tries: 1 });
    if (server !== undefined) resolver.setServers([server]);
    this.#resolvers.push(resolver);
    for (const [type, waiting] of this.#open) {
      this.#open.set(type, waiting + 1);
      ask(resolver, { name: this.#inquiry.name, type }).then((answer) => this.#take(type, answer), (error: unknown) => this.#fail(error));
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
    clearTimeout(this.#deadline);
    clearTimeout(this.#repetition);
    this.#open.clear();
    for (const resolver of this.#resolvers) resolver.cancel();
  }
}
