import { setImmediate as turn } from 'node:timers/promises';
import type { VendorDocumentRecord, VendorDocumentStore } from '../../core/checks/vendor/document.ts';
import type { Vote } from '../../core/checks/verdict.ts';
import { extractAnswerEvidence } from '../../core/incidents/evidence.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { holdingBodies } from '../../net/body-budget.ts';
import { openKnownDomains } from '../../probes/domain.ts';
import type { DomainStore } from '../../probes/domain/registry-queue.ts';
import { Judge } from '../../probes/judging/judge.ts';
import { openAgentProbe } from '../../probes/probe.ts';
import { createVendorPageReader } from '../../probes/vendor.ts';
import { openServiceProbe } from '../../workers/processes/check.ts';

/** Checks to run at once, and the servers for domain lookups; `rdapBase` is null without RDAP. */
export type ProbingOrder = { targets: CheckTarget[]; whois: { host: string; port: number }; rdapBase: string | null };

/**
 * Result of one check; `failure` is the error that it threw, which must be null. `tookMs` leaves out the time in which
 * the machine did not run this process.
 */
export type ProbedCheck = {
  verdict: Vote | null;
  cause: string | null;
  reason: string | null;
  failure: string | null;
  tookMs: number;
};

/**
 * Results of an order's checks, and their cost to the process. `longestHoldMs` is the most CPU time between two turns
 * of the event loop.
 */
export type ProbingReport = { checks: ProbedCheck[]; grownMb: number; longestHoldMs: number };

/** Sampling interval of memory and CPU time, in milliseconds. */
const SAMPLE_EVERY_MS = 5;
/** Longest time between two samples that counts toward the duration of a check, in milliseconds. */
const LONGEST_GAP_MS = 200;

/** Time that the process has run, in milliseconds; updated by each sample. */
let ranMs = 0;
const MB = 1024 * 1024;

const SERVICE_TYPES = new Set(['dns', 'domain', 'vendor']);

const agentProbe = openAgentProbe({ allowPrivateNetwork: true });
const judge = new Judge();

/** Opens the probes; their caches of pages and domains last for one order. */
function openProbes({ whois, rdapBase }: ProbingOrder) {
  const pages = new Map<string, VendorDocumentRecord>();
  const store: VendorDocumentStore = {
    find: async (url) => pages.get(url) ?? null,
    claim: async () => true,
    save: async (record) => void pages.set(record.url, record),
  };
  const domains: DomainStore = {
    read: async () => null,
    claim: async () => true,
    write: async () => undefined,
    findRdapService: async () => rdapBase,
    acquireRegistry: async () => null,
    releaseRegistry: async () => undefined,
  };
  const guard = { allowPrivateNetwork: true };
  const known = openKnownDomains({ ...guard, whoisServer: whois, domains, now: Date.now });
  const service = openServiceProbe({
    ...guard,
    dnsResolvers: [],
    readVendorPage: createVendorPageReader({ ...guard, store, now: Date.now }),
    knowDomain: known.know,
  });
  return (target: CheckTarget) => (SERVICE_TYPES.has(target.type) ? service : agentProbe).probe(target);
}

async function check(target: CheckTarget, probe: ReturnType<typeof openProbes>): Promise<ProbedCheck> {
  const startedAtMs = ranMs;
  const tookMs = () => ranMs - startedAtMs;
  try {
    const observation = await probe(target);
    const probedMs = tookMs();
    const { verdict, cause, reason } = (await judge.judge({ target, observation, account: 'attacker', check: null }))
      .judgement;
    extractAnswerEvidence({ target, observation });
    return { verdict, cause, reason, failure: null, tookMs: probedMs };
  } catch (error) {
    return { verdict: null, cause: null, reason: null, failure: String(error), tookMs: tookMs() };
  }
}

/** Returns the CPU time of this thread alone, in milliseconds, so that other load does not count. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function run(order: ProbingOrder): Promise<ProbingReport> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  let longestHoldMs = 0;
  let atLastTurn = processorMs();
  let sampledAtMs = performance.now();
  const takeSample = () => {
    const nowMs = performance.now();
    ranMs += Math.min(nowMs - sampledAtMs, LONGEST_GAP_MS);
    sampledAtMs = nowMs;
    const spent = processorMs();
    longestHoldMs = Math.max(longestHoldMs, spent - atLastTurn);
    atLastTurn = spent;
    most = Math.max(most, process.memoryUsage.rss());
  };
  const timer = setInterval(takeSample, SAMPLE_EVERY_MS);
  const probe = openProbes(order);
  // Each check runs for a different account: one account's body memory holds few large bodies.
  const checks = await Promise.all(
    order.targets.map((target, index) => holdingBodies(`ten_${index}`, () => check(target, probe))),
  );
  await turn();
  takeSample();
  clearInterval(timer);
  return { checks, grownMb: (most - before) / MB, longestHoldMs };
}

process.on('message', async (order: ProbingOrder) => void process.send?.(await run(order)));
process.once('disconnect', () => process.exit());
process.send?.('ready');
