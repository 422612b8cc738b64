import type { CheckTarget, DnsRecordSpec } from '../core/monitors/monitor.ts';
import { openDnsProbe } from '../probes/dns.ts';
import type { BenchContext } from './benchmark.ts';
import { forkChild } from './harness/child.ts';
import { measureProbeRate } from './probe-rate.ts';

const CHECKS: Readonly<Record<string, DnsRecordSpec[]>> = {
  'one record': [{ type: 'A', mode: 'equals', expected: ['192.0.2.1'] }],
  'A and AAAA, as without records': [],
};

/** Measures dns probes per core on loopback, with one question and with two. */
export async function probeDns({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const { ready: server } = await forkChild<string>(harness, 'name-server', {});
    const { probe, close } = openDnsProbe({ allowPrivateNetwork: true, dnsResolvers: [] });
    harness.teardown(close);
    for (const [name, records] of Object.entries(CHECKS)) {
      const target = targetOf(`dns://${server}/name.example`, records);
      const value = await measureProbeRate(() => probe(target), { outcome: 'queried', isQuick });
      report.bound({ name, value, unit: ' probes a second and core', atLeast: 5000 });
    }
  });
}

function targetOf(target: string, records: DnsRecordSpec[]): CheckTarget {
  return {
    type: 'dns',
    target,
    timeoutMs: 10_000,
    method: null,
    expectedStatus: null,
    bodyMatch: null,
    followRedirects: false,
    checkSpec: { dns: { records } },
    secrets: {},
  };
}
