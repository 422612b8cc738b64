import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// The limit that checks are held against: `http.get` without an agent at a given rate, each at its own moment, and nothing else.
type Settings = { urls: string[]; perSecond: number };

const { urls, perSecond } = readSettings<Settings>();
const gapMs = 1000 / perSecond;
let done = 0;
let dueAt = performance.now();

function launchDue(): void {
  for (const now = performance.now(); dueAt <= now; dueAt += gapMs) {
    const request = http.get(`${urls[done % urls.length]}${done}`, { agent: false }, (response) => response.resume());
    request.on('error', () => undefined);
    done += 1;
  }
  setTimeout(launchDue, dueAt - performance.now());
}

launchDue();
// The CPU seconds and the requests so far: the parent takes differences.
answer(() => {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, done };
});
ready(null);
