import { setTimeout as delay } from 'node:timers/promises';
import { RecentResults } from '../core/checks/own-faults.ts';
import type { Judgement } from '../core/checks/verdict.ts';
import { talksToTarget, type MonitorType } from '../core/monitors/monitor.ts';
import type { HostPort } from '../net/host-address.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';

export type SelfCheckOptions = {
  /** Well-known hosts, at least one; the address guard does not apply to what the operator chose. */
  hosts: readonly HostPort[];
  /** Unix milliseconds. */
  now: () => number;
  /** Called when this agent can reach none of the hosts any more (false), and when it can again (true). */
  onChange: (reachesAny: boolean) => void;
};

/** All hosts are asked at once and have this long to accept a connection, in milliseconds. */
const DEADLINE_MS = 2000;

/** Questions follow one another no closer than this, in milliseconds: who comes meanwhile shares the next. */
const QUESTIONS_APART_MS = 500;

const CUT_OFF: Judgement = {
  verdict: 'none',
  cause: null,
  reason: 'This location can reach none of its own reference hosts either, so its results do not count',
};

/**
 * Tells an outage of this machine's own network from one of a target. Only a bad result costs more than a glance, and
 * only where most have just turned bad. Once the hosts are out of reach every bad result is suspect, and good ones have
 * them asked again, until one is reached.
 */
export class SelfCheck {
  readonly #options: SelfCheckOptions;
  readonly #results = new RecentResults();
  readonly #hosts: ReferenceHosts;
  #reachesAny = true;

  constructor(options: SelfCheckOptions) {
    this.#options = options;
    this.#hosts = new ReferenceHosts(options.hosts);
  }

  /**
   * The judgement on a check as it counts: the given one, or no vote where this agent has lost its own network (D-48).
   * Never rejects.
   */
  async apply(check: { monitor: string | number; type: MonitorType }, judgement: Judgement): Promise<Judgement> {
    // What is known from earlier says nothing of the network of now.
    if (!talksToTarget(check.type)) return judgement;
    const { monitor } = check;
    const isSuspect = this.#results.add({ monitor, verdict: judgement.verdict }, this.#options.now());
    const isBad = judgement.verdict === 'down';
    if (!isBad && !this.#reachesAny) void this.#askHosts();
    if (!isBad || (!isSuspect && this.#reachesAny)) return judgement;
    if (!(await this.#askHosts())) return CUT_OFF;
    this.#results.confirm(monitor);
    return judgement;
  }

  async #askHosts(): Promise<boolean> {
    const answer = await this.#hosts.reachAny();
    if (answer !== this.#reachesAny) {
      this.#reachesAny = answer;
      this.#options.onChange(answer);
    }
    return answer;
  }
}

/** The hosts of which one must be reached. */
class ReferenceHosts {
  readonly #hosts: readonly HostPort[];
  readonly #connect = createTcpClient({ allowPrivateNetwork: true });
  #next: Promise<boolean> | null = null;
  #last = Promise.resolve(true);
  #startedAtMs = Number.NEGATIVE_INFINITY;

  constructor(hosts: readonly HostPort[]) {
    this.#hosts = hosts;
  }

  /**
   * Whether any host can be reached. The answer is for those who came before it was asked: an earlier one may be from
   * before the network was lost.
   */
  reachAny(): Promise<boolean> {
    this.#next ??= this.#askNext();
    return this.#next;
  }

  async #askNext(): Promise<boolean> {
    await this.#last;
    await delay(Math.max(0, this.#startedAtMs + QUESTIONS_APART_MS - performance.now()));
    this.#next = null;
    this.#startedAtMs = performance.now();
    this.#last = Promise.any(this.#hosts.map((host) => this.#reach(host))).catch(() => false);
    return await this.#last;
  }

  /**
   * A refusal is no answer of the host's: one that is well known accepts, and a gateway that lost its uplink refuses in
   * its name.
   */
  async #reach(host: HostPort): Promise<true> {
    const exchange = { ...host, payload: new Uint8Array(), receive: null, deadlineMs: DEADLINE_MS };
    const { outcome } = await this.#connect(exchange);
    if (outcome === 'failed') throw new Error(`${host.host}:${host.port} cannot be reached`);
    return true;
  }
}
