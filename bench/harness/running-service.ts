import { findFreePort } from '../../cli/embedded-postgres/start.ts';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { startProgramAs, type Program } from '../../test/helpers/program.ts';
import { until } from '../../test/helpers/until.ts';
import { readScrape, type Scrape } from './scrape.ts';

/** One of our processes that serves http. */
export type Service = { program: Program; url: string; readyAfterMs: number; scrape: () => Promise<Scrape> };

const READY_WITHIN_MS = 120_000;
const POLL_MS = 20;
/** Most characters of output that are kept: only the beginning is of interest, not minutes of logs. */
const KEPT_CHARACTERS = 500_000;

/** Starts the whole service, and waits until `/readyz` succeeds. */
export function startService(harness: Harness, env: Record<string, string>): Promise<Service> {
  return start(harness, ['--max-semi-space-size=8', 'cli/spotcheck.ts', 'start'], env);
}

/** Starts one process of a fleet alone, as the Procfile does. */
export function startProcess(harness: Harness, name: ProcessName, env: Record<string, string>): Promise<Service> {
  return start(harness, FLEET[name], env);
}

/** Starts a process. `PORT` is the API's port and `METRICS_PORT` a worker's; each process reads one of them. */
async function start(harness: Harness, args: readonly string[], env: Record<string, string>): Promise<Service> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const startedAt = performance.now();
  const program = startProgramAs(harness, {
    args,
    env: { ...env, PORT: String(port), METRICS_PORT: String(port) },
    keptCharacters: KEPT_CHARACTERS,
  });
  // Stopped as an operator would stop it: on exit the service also stops its PostgreSQL.
  harness.teardown(() => program.stop());
  await untilReady(url, program);
  return {
    program,
    url,
    readyAfterMs: performance.now() - startedAt,
    scrape: async () => readScrape(await (await fetch(`${url}/metrics`)).text()),
  };
}

async function untilReady(url: string, program: Program): Promise<void> {
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(async () => !program.isRunning() || (await isReady()), {
    timeoutMs: READY_WITHIN_MS,
    intervalMs: POLL_MS,
  });
  if (!program.isRunning()) throw new Error(`The service did not get ready:\n${program.output()}`);
}
