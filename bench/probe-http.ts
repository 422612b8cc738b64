import http from 'node:http';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { createHttpProbe } from '../probes/http.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { forkChild } from './harness/child.ts';
import { measureCpuSeconds } from './probe-rate.ts';

const WARM_UP_ROUNDS = 3;
const PROBES_A_ROUND = 1500;
const IN_FLIGHT = 20;
const BODY_BYTES = [100, 20_000];

type Contestant = { name: string; run: () => Promise<unknown>; samples: number[] };

/**
 * Compares the CPU of an http probe with that of a bare `http.get(agent: false)` that drains its response. Both run in
 * turns, so that other load affects both.
 */
export async function probeHttp({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  for (const bodyBytes of BODY_BYTES) {
    await withHarness(async (harness) => {
      const { ready: urls } = await forkChild<string[]>(harness, 'target', { addresses: 1, bodyBytes });
      const samples = await compare(`${urls[0]}1`, WARM_UP_ROUNDS + (isQuick ? 3 : 12));
      const bare = median(samples[0]?.samples ?? []);
      for (const { name, samples: rounds } of samples) {
        const cpu = median(rounds);
        report.figure(`${bodyBytes} byte body: ${name} ${cpu.toFixed(1)} us CPU, ratio ${(cpu / bare).toFixed(2)}`);
      }
    });
  }
}

async function compare(url: string, rounds: number): Promise<Contestant[]> {
  const probe = createHttpProbe({ allowPrivateNetwork: true });
  const contestants: Contestant[] = [
    { name: 'bare http.get', run: () => getBare(url), samples: [] },
    { name: 'probe', run: () => probe(targetOf(url, null)), samples: [] },
    { name: 'probe reading the body', run: () => probe(targetOf(url, 'xx')), samples: [] },
  ];
  for (let round = 0; round < rounds; round += 1) {
    for (const { run, samples } of contestants) {
      const microseconds = (await measureCpuSeconds(run, { probes: PROBES_A_ROUND, inFlight: IN_FLIGHT })) * 1_000_000;
      if (round >= WARM_UP_ROUNDS) samples.push(microseconds);
    }
  }
  return contestants;
}

function getBare(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: false }, (response) => {
      response.resume();
      response.once('end', resolve);
    });
    request.once('error', reject);
  });
}

function targetOf(url: string, bodyMatch: string | null): CheckTarget {
  return {
    type: 'http',
    target: url,
    timeoutMs: 10_000,
    method: 'GET',
    expectedStatus: '2xx',
    bodyMatch,
    followRedirects: true,
    checkSpec: {},
    secrets: {},
  };
}
