import type { CheckTarget } from '../core/monitors/monitor.ts';
import { openIcmpProbe } from '../probes/icmp.ts';
import type { BenchContext } from './benchmark.ts';
import { measureProbeRate } from './probe-rate.ts';

const TARGETS = { IPv4: '127.0.0.1', IPv6: '::1' };

/**
 * Measures icmp probes per core on loopback, with one echo request. Without permission for a socket the figures are
 * those of the system's ping, or missing.
 */
export async function probeIcmp({ isQuick, report }: BenchContext): Promise<void> {
  const { probe, close } = openIcmpProbe({
    allowPrivateNetwork: true,
    onEchoNotice: ({ family, means, reason }) =>
      report.figure(`IPv${family}: ${means ?? 'no means'}${reason === null ? '' : ` (${reason})`}`),
  });
  for (const [name, address] of Object.entries(TARGETS)) {
    const target = targetOf(address);
    const { outcome } = await probe(target);
    if (outcome !== 'measured') {
      report.figure(`${name}: ${outcome}, nothing to measure`);
      continue;
    }
    report.bound({
      name,
      value: await measureProbeRate(() => probe(target), { outcome: 'measured', isQuick }),
      unit: ' probes a second and core',
      atLeast: 1000,
    });
  }
  await close();
}

function targetOf(target: string): CheckTarget {
  return {
    type: 'icmp',
    target,
    timeoutMs: 10_000,
    method: null,
    expectedStatus: null,
    bodyMatch: null,
    followRedirects: false,
    checkSpec: { ping: { count: 1 } },
    secrets: {},
  };
}
