import type { CheckTarget, TransportSpec } from '../core/monitors/monitor.ts';
import { createTcpProbe } from '../probes/tcp.ts';
import type { BenchContext } from './benchmark.ts';
import { forkChild } from './harness/child.ts';
import { measureProbeRate } from './probe-rate.ts';

const CHECKS: Readonly<Record<string, TransportSpec>> = {
  'connecting only': {},
  'a payload and its echo': { payload: 'PING\\r\\n', expect: 'PING' },
};

/** Measures tcp probes per core on loopback, with and without an expected reply. */
export async function probeTcp({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const { ready: echo } = await forkChild<{ tcp: string }>(harness, 'echo', {});
    const probe = createTcpProbe({ allowPrivateNetwork: true });
    for (const [name, transport] of Object.entries(CHECKS)) {
      const target = targetOf(echo.tcp, transport);
      const value = await measureProbeRate(() => probe(target), { outcome: 'connected', isQuick });
      report.bound({ name, value, unit: ' probes a second and core', atLeast: 5000 });
    }
  });
}

function targetOf(target: string, transport: TransportSpec): CheckTarget {
  return {
    type: 'tcp',
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
