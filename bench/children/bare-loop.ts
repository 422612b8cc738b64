import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// The reference for checks: `http.get` without an agent at a given rate, and nothing else. Every 10 ms it launches the
// requests that are due: a timer for each would cost the loop more than half as much again, and flatter the code that
// is compared with it.
type Settings = { urls: string[]; perSecond: number };

const BURST_EVERY_MS = 10;

/** Requests at full speed before the measurement, so that the code is compiled. */
const WARM_UP_REQUESTS = 10_000;
const WARM_UP_IN_FLIGHT = 20;

const { urls, perSecond } = readSettings<Settings>();
const gapMs = 1000 / perSecond;
let launched = 0;
let answered = 0;

for (let batch = 0; batch < WARM_UP_REQUESTS; batch += WARM_UP_IN_FLIGHT)
  await Promise.all(Array.from({ length: WARM_UP_IN_FLIGHT }, request));
let dueAt = performance.now();
setInterval(() => {
  for (const now = performance.now(); dueAt <= now; dueAt += gapMs) void request();
}, BURST_EVERY_MS);

// CPU seconds and responses so far: the parent computes differences.
answer(() => {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, answered };
});
ready(null);

function request(): Promise<void> {
  launched += 1;
  return new Promise((resolve, reject) => {
    const sent = http.get(`${urls[launched % urls.length]}${launched}`, { agent: false }, (response) => {
      response.resume();
      response.once('end', () => {
        answered += 1;
        resolve();
      });
    });
    sent.once('error', reject);
  });
}
