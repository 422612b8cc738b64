import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { CheckTarget } from '../core/monitor.ts';
import { createHttpProbe } from '../probes/http.ts';

// CPU of one http probe against one bare `http.get(agent: false)` that drains its answer: both in turns in one run, so
// that whatever else the machine does falls on both. Prints medians in microseconds of CPU (user and system).
const ROUNDS = 15;
const WARM_UP_ROUNDS = 3;
const PROBES_A_ROUND = 1_500;
const IN_FLIGHT = 20;
const BODY_BYTES = [100, 20_000];

type Contestant = { name: string; run: () => Promise<unknown>; samples: number[] };

for (const bodyBytes of BODY_BYTES) {
  const server = fork(new URL('probe-http-server.ts', import.meta.url), [String(bodyBytes)]);
  const [port] = await once(server, 'message');
  await compare(`http://127.0.0.1:${port}/status?full=1`, bodyBytes);
  server.disconnect();
}

async function compare(url: string, bodyBytes: number): Promise<void> {
  const probe = createHttpProbe({ allowPrivateNetwork: true });
  const contestants: Contestant[] = [
    { name: 'bare http.get', run: () => getBare(url), samples: [] },
    { name: 'probe', run: () => probe(targetOf(url, null)), samples: [] },
    { name: 'probe reading the body', run: () => probe(targetOf(url, 'xx')), samples: [] },
  ];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { run, samples } of contestants) {
      const microseconds = await measureCpu(run);
      if (round >= WARM_UP_ROUNDS) samples.push(microseconds);
    }
  }
  const bare = median(contestants[0]?.samples ?? []);
  for (const { name, samples } of contestants) {
    const cpu = median(samples);
    process.stdout.write(`${bodyBytes} byte body: ${name} ${cpu.toFixed(1)} us CPU, ratio ${(cpu / bare).toFixed(2)}\n`);
  }
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
    type: 'http', target: url, timeoutMs: 10_000, method: 'GET', expectedStatus: '2xx', bodyMatch,
    followRedirects: true, checkSpec: {}, secrets: {},
  };
}

async function measureCpu(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  let started = 0;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (started < PROBES_A_ROUND) {
      started += 1;
      await run();
    }
  }));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / PROBES_A_ROUND;
}

function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
