import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Run as `node reference-client.ts <url>`: requests the targets' server as any prober would, and prints each duration.
 */
const url = process.argv[2] ?? '';

const PAUSE_MS = 250;

function ask(): Promise<void> {
  return new Promise((resolve) => {
    http
      .get(url, { agent: false }, (response) => response.resume().once('close', resolve))
      .once('error', () => resolve());
  });
}

// The pause is measured as well: a client that gets no processor time for seconds cannot send requests.
for (;;) {
  const startedAt = performance.now();
  await ask();
  await delay(PAUSE_MS);
  process.stdout.write(`${Math.round(performance.now() - startedAt - PAUSE_MS)}\n`);
}
