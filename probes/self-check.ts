import { setTimeout as delay } from 'node:timers/promises';
import { RecentResults } from '../core/checks/own-faults.ts';
import type { Judgement } from '../core/checks/verdict.ts';
import { talksToTarget, type MonitorType } from '../core/monitors/monitor.ts';
import type { HostPort } from '../net/host-address.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';

type SelfCheckOptions = {
  /** Well-known hosts, at least one; the address guard does not apply, because the operator chose them. */
  hosts: readonly HostPort[];
  /** Unix milliseconds. */
  now: () => number;
  /** Called with false when this agent can no longer reach any of the hosts, and with true when it can again. */
  onChange: (reachesAny: boolean) => void;
};

/** Time limit for the hosts, which are contacted at once, to accept a connection, in milliseconds. */
const DEADLINE_MS = 2000;

/** Minimum interval between two tests, in milliseconds: calls in between share the next. */
const QUESTIONS_APART_MS = 500;

const CUT_OFF: Judgement = {
  verdict: 'none',
  cause: null,
  reason: 'This location can reach none of its own reference hosts either, so its results do not count',
};

/**
 * Distinguishes an outage of this machine's own network from one of a target. It costs almost nothing except for a bad
 * result when most monitors have just turned bad. While the hosts are unreachable, every bad result is suspect, and
 * good ones trigger another test, until one is reached.
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
   * Returns the judgement on a check as it counts: the given one, or no vote if this agent has lost its own network
   * (D-48). Never rejects.
   */
  async apply(check: { monitor: string; type: MonitorType }, judgement: Judgement): Promise<Judgement> {
    // Facts from earlier prove nothing about the present network.
    if (!talksToTarget(check.type)) return judgement;
    const { monitor } = check;
    const isSuspect = this.#results.add({ monitor, verdict: judgement.verdict }, this.#options.now());
    const isDown = judgement.verdict === 'down';
    if (!isDown && !this.#reachesAny) void this.#askHosts();
    if (!isDown || (!isSuspect && this.#reachesAny)) return judgement;
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

/** The hosts, one of which must be reached. */
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
   * Reports whether any host can be reached. Calls share a test that has not started yet: a running one may have begun
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
   * Connects to a host. A refusal is not the host's answer: a well-known one accepts, and a gateway that lost its
   * uplink refuses in its name.
   */
  async #reach(host: HostPort): Promise<true> {
    const exchange = { ...host, payload: new Uint8Array(), receive: null, deadlineMs: DEADLINE_MS };
    const { outcome } = await this.#connect(exchange);
    if (outcome === 'failed') throw new Error(`${host.host}:${host.port} cannot be reached`);
    return true;
  }
}
