import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { apiClient, type ApiClient } from './api-client.ts';
import type { Harness } from './harness.ts';
import { prepareDataDir } from './prepared-data-dir.ts';
import { outputMatching, startProgram, type Program } from './program.ts';
import { runInSequence } from './run-in-sequence.ts';
import { testDataDirectory } from './test-servers.ts';

/** A running `npm start`; `token` is empty if the start created none. */
export type Service = { program: Program; url: string; token: string; call: ApiClient };

export const START = ['cli/spotcheck.ts', 'start'];

/** Returns a data directory for one test, which does not exist yet. */
export async function newDataDir(t: Harness): Promise<string> {
  const directory = await mkdtemp(join(testDataDirectory(), 'spotcheck-e2e-'));
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return join(directory, 'data');
}

/** Creates a data directory whose database is prepared and migrated; the next start creates the accounts. */
export async function newPreparedDataDir(t: Harness): Promise<string> {
  const dataDir = await newDataDir(t);
  await prepareDataDir(dataDir);
  return dataDir;
}

/** Starts the whole service and waits until it reports that it is ready. */
export async function startService(t: Harness, env: Record<string, string>, token = ''): Promise<Service> {
  return await runInSequence(() => readyService(startProgram(t, START, { PORT: '0', ...env }), token));
}

/** Waits until a started service is ready; its token is the one that it prints, or else the given one. */
export async function readyService(program: Program, token = ''): Promise<Service> {
  const [, url = ''] = await outputMatching(program, /ready at (\S+)/);
  const [, shown = token] = /API token\s+(spk_\S+)/.exec(program.output()) ?? [];
  return { program, url, token: shown, call: apiClient(url, shown) };
}

/** Returns the process id of a data directory's embedded PostgreSQL; rejects if none runs or was killed. */
export async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}
