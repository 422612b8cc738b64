import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Harness } from '../../test/helpers/harness.ts';
import { SLOW_FROM_MS } from './targets.ts';

/**
 * Load of the machine. `slowMs` is the longest continuous time, in milliseconds, in which even the simplest client
 * waited longer than half of a monitor's slow threshold.
 */
export type Machine = { slowMs: () => number };

/** Watches the machine with a client that shares no code with the probes. */
export async function watchMachine(harness: Harness, targetUrl: string): Promise<Machine> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('reference-client.ts', import.meta.url)), targetUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  harness.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let [stretchMs, slowMs] = [0, 0];
  createInterface({ input: child.stdout }).on('line', (line) => {
    stretchMs = Number(line) > SLOW_FROM_MS / 2 ? stretchMs + Number(line) : 0;
    slowMs = Math.max(slowMs, stretchMs);
  });
  return { slowMs: () => slowMs };
}
