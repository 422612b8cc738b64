import { checkTargetOf } from '../../core/monitors/monitor.ts';
import type { Guard } from '../../net/address-guard.ts';
import { openIcmpProbe } from '../../probes/icmp.ts';
import { Judge } from '../../probes/judging/judge.ts';
import { probeDns } from './dns-probe.ts';
import { probeHttp } from './http-probe.ts';
import type { IcmpSettings, Module } from './modules.ts';
import { ProbeFailure, ProbeRun, secondsSince } from './run.ts';
import { probeTcp } from './tcp-probe.ts';

/** A requested probe: a module, a target, and the timeout in milliseconds. */
type ProbeOrder = {
  module: Module;
  target: string;
  /** Host header or server name for the target; null for the target's own. */
  hostname: string | null;
  timeoutMs: number;
  signal: AbortSignal;
};

/** Result of a probe. `log` contains no secrets. */
export type ProbeOutcome = { isSuccess: boolean; metrics: string; log: readonly string[] };

type IcmpProbe = ReturnType<typeof openIcmpProbe>;

/** Runs probes by modules of blackbox_exporter, in addition to the agent's checks and with the same guard. */
export class Exporter {
  readonly #guard: Guard;
  readonly #judge = new Judge();
  /** By the maximum hops of requests. */
  readonly #icmp = new Map<number, IcmpProbe>();

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  /** Probes once. Rejects only for a fault of this process. */
  async probe({ module, target, hostname, timeoutMs, signal }: ProbeOrder): Promise<ProbeOutcome> {
    const startedAtMs = performance.now();
    const run = new ProbeRun({ target, hostname, guard: this.#guard, signal, timeoutMs });
    const isSuccess = await this.#isSuccess(run, module);
    run.gauges.set('probe_success', isSuccess ? 1 : 0);
    run.gauges.set('probe_duration_seconds', secondsSince(startedAtMs));
    run.gauges.set('probe_timeout_seconds', timeoutMs / 1000);
    return { isSuccess, metrics: run.gauges.write(), log: run.logged() };
  }

  /** Releases sockets and threads. */
  async close(): Promise<void> {
    await Promise.all([this.#judge.close(), ...[...this.#icmp.values()].map((icmp) => icmp.close())]);
  }

  async #isSuccess(run: ProbeRun, module: Module): Promise<boolean> {
    try {
      await this.#run(run, module);
      run.log('Probe succeeded');
      return true;
    } catch (error) {
      if (!(error instanceof ProbeFailure)) throw error;
      run.log(`Probe failed: ${error.message}`);
      return false;
    }
  }

  async #run(run: ProbeRun, { probe }: Module): Promise<void> {
    switch (probe.prober) {
      case 'http':
        return await probeHttp(run, probe.settings, this.#judge);
      case 'tcp':
        return await probeTcp(run, probe.settings);
      case 'dns':
        return await probeDns(run, probe.settings);
      case 'icmp':
        return await this.#probeIcmp(run, probe.settings);
      case 'unsupported':
        throw new ProbeFailure(`The agent has no prober ${probe.name}`);
      default:
        return probe satisfies never;
    }
  }

  async #probeIcmp(run: ProbeRun, settings: IcmpSettings): Promise<void> {
    const phases = 'probe_icmp_duration_seconds';
    run.gauges.declareSteps(phases, ['resolve', 'setup', 'rtt']);
    const { address, lookupSeconds } = await run.chooseAddress(run.target, settings);
    run.gauges.set(phases, lookupSeconds, { phase: 'resolve' });
    const { probe } = this.#icmpOf(settings.ttl);
    const observation = await probe(echoTo(address, run.remainingMs()), run.signal);
    if (observation.outcome !== 'measured') throw new ProbeFailure(observation.reason);
    if (observation.latencyMs === null) throw new ProbeFailure('No echo reply came in time');
    run.gauges.set(phases, observation.latencyMs / 1000, { phase: 'rtt' });
  }

  #icmpOf(ttl: number): IcmpProbe {
    const opened = this.#icmp.get(ttl) ?? openIcmpProbe({ ...this.#guard, ttl });
    this.#icmp.set(ttl, opened);
    return opened;
  }
}

/** Returns the target of one echo request. */
function echoTo(target: string, timeoutMs: number) {
  const none = { method: null, expectedStatus: null, bodyMatch: null, followRedirects: false };
  return checkTargetOf({ type: 'icmp', target, timeoutMs, ...none, checkSpec: { ping: { count: 1 } } }, {});
}
