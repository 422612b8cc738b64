import { setTimeout as delay } from 'node:timers/promises';
import { createRecentResults } from '../core/checks/self-check.ts';
import type { Judgement } from '../core/checks/verdict.ts';
import { type MonitorType, talksToTarget } from '../core/monitors/monitor.ts';
import type { HostPort } from '../net/host-port.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';

export type SelfCheckOptions = {
  /** Well-known hosts, at least one; the address guard does not apply to what the operator chose. */
  hosts: readonly HostPort[];
  /** Unix milliseconds. */
  now: () => number;
  /** Called when this agent can reach none of the hosts any more (false), and when it can again (true). */
  onChange: (reachesAny: boolean) => void;
};

/**
 * The judgement on a check as it counts: the given one, or no vote where this agent has lost its own network (D-48).
 * Never rejects.
 */
export type SelfCheck = (
  check: { monitor: string | number; type: MonitorType },
  judgement: Judgement,
) => Promise<Judgement>;

/** All hosts are asked at once and have this long to accept a connection, in milliseconds. */
const DEADLINE_MS = 2000;

/** Questions follow one another no closer than this, in milliseconds: who comes meanwhile shares the next. */
const QUESTIONS_APART_MS = 500;

const CUT_OFF: Judgement = {
  verdict: 'none',
  cause: null,
  reason: 'This location can reach none of its own reference hosts either, so what it saw does not count',
};

/**
 * Opens the self-check of one place. Only a bad result costs more than a glance, and only where most have just turned
 * bad. Once the hosts are out of reach every bad result is suspect, and good ones have them asked again, until one is
 * reached.
 */
export function openSelfCheck({ hosts, now, onChange }: SelfCheckOptions): SelfCheck {
  const results = createRecentResults();
  const ask = createReachability(hosts);
  let reachesAny = true;

  const checkAndNotify = async (): Promise<boolean> => {
    const answer = await ask();
    if (answer !== reachesAny) {
      reachesAny = answer;
      onChange(answer);
    }
    return answer;
  };

  return async ({ monitor, type }, judgement) => {
    // What is known from earlier says nothing of the network of now.
    if (!talksToTarget(type)) return judgement;
    const isSuspect = results.add({ monitor, verdict: judgement.verdict }, now());
    const isBad = judgement.verdict === 'down';
    if (!isBad && !reachesAny) void checkAndNotify();
    if (!isBad || (!isSuspect && reachesAny)) return judgement;
    if (!(await checkAndNotify())) return CUT_OFF;
    results.confirm(monitor);
    return judgement;
  };
}

/**
 * Makes the question whether any host can be reached. Its answer is for those who came before it was asked: an earlier
 * one may be from before the network was lost.
 */
function createReachability(hosts: readonly HostPort[]): () => Promise<boolean> {
  const connect = createTcpClient({ allowPrivateNetwork: true });
  // A refusal is no answer of the host's: one that is well known accepts, and a gateway that lost its uplink refuses in
  // its name.
  const reach = async (host: HostPort) => {
    const { outcome } = await connect({ ...host, payload: new Uint8Array(), receive: null, deadlineMs: DEADLINE_MS });
    if (outcome === 'failed') throw new Error(`${host.host}:${host.port} cannot be reached`);
    return true;
  };
  const reachAny = () => Promise.any(hosts.map(reach)).catch(() => false);
  let next: Promise<boolean> | null = null;
  let last = Promise.resolve(true);
  let startedAtMs = Number.NEGATIVE_INFINITY;
  const askNext = async (): Promise<boolean> => {
    await last;
    await delay(Math.max(0, startedAtMs + QUESTIONS_APART_MS - performance.now()));
    next = null;
    startedAtMs = performance.now();
    last = reachAny();
    return await last;
  };
  return () => (next ??= askNext());
}
