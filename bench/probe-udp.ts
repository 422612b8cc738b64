import type { CheckTarget, TransportSpec } from '../core/monitors/monitor.ts';
import { createUdpProbe } from '../probes/udp.ts';
import type { BenchContext } from './benchmark.ts';
import { forkChild } from './harness/child.ts';
import { measureProbeRate } from './probe-rate.ts';

const CHECKS: Readonly<Record<string, TransportSpec>> = {
  'an empty datagram and its echo': {},
  'a payload and its echo': { payload: 'PING\\r\\n', expect: 'PING' },
};

/** Measures udp probes per core on loopback. */
export async function probeUdp({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const { ready: echo } = await forkChild<{ udp: string }>(harness, 'echo', {});
    const probe = createUdpProbe({ allowPrivateNetwork: true });
    for (const [name, transport] of Object.entries(CHECKS)) {
      const target = targetOf(echo.udp, transport);
      const value = await measureProbeRate(() => probe(target), { outcome: 'replied', isQuick });
      report.bound({ name, value, unit: ' probes a second and core', atLeast: 5000 });
    }
  });
}

function targetOf(target: string, transport: TransportSpec): CheckTarget {
  return {
    type: 'udp',
    target,
    timeoutMs: 10_000,
    method: null,
    expectedStatus: null,
    bodyMatch: null,
    followRedirects: false,
    checkSpec: { transport },
    secrets: {},
  };
}
