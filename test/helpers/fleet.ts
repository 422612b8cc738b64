import { randomBytes } from 'node:crypto';
import { bootstrap } from '../../cli/commands/accounts.ts';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { closeDatabase } from '../../models/database.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { apiClient, type ApiClient } from './api-client.ts';
import { openTestDatabase } from './database.ts';
import type { Harness } from './harness.ts';
import { outputMatching, startProgram, type Program } from './program.ts';
import { runInSequence } from './run-in-sequence.ts';

/** Processes of one installation, by name. */
export type Fleet = {
  /** URL of the API, which changes with each start of `web`. */
  readonly url: string;
  /** An API token, and a client that uses it. */
  token: string;
  call: ApiClient;
  /** All started processes, including killed ones. */
  programs: readonly Program[];
  /** Kills the process of that name with SIGKILL. */
  kill: (name: ProcessName) => Promise<void>;
  /** Starts another process of that name and waits until it works. */
  start: (name: ProcessName) => Promise<Program>;
};

const NAMES = Object.keys(FLEET).filter((name): name is ProcessName => name !== 'release');

/**
 * Starts one process of each kind on a migrated database, with Redis if its URL is given. The first account is created
 * as by `release`.
 */
export async function startFleet(t: Harness, given: Record<string, string> & { DATABASE_URL: string }): Promise<Fleet> {
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    ALLOW_PRIVATE_NETWORK: 'true',
    PUBLIC_URL: 'http://localhost:3000',
    PORT: '0',
    AGENT_REGION: 'hanoi',
    ...given,
  };
  const programs: Program[] = [];
  const running = new Map<ProcessName, Program>();
  let url = '';
  const start = async (name: ProcessName) => {
    const program = startProgram(t, FLEET[name], env);
    programs.push(program);
    running.set(name, program);
    await outputMatching(program, /process\.started/);
    if (name === 'web') url = `http://127.0.0.1:${/"port":(\d+)/.exec(program.output())?.[1]}`;
    return program;
  };
  await runInSequence(async () => {
    const database = openTestDatabase(given.DATABASE_URL);
    await bootstrap(database, { newId: createIdSource(), nowMs: Date.now(), token, password: null });
    await closeDatabase(database);
    await Promise.all(NAMES.map(start));
  });
  return {
    get url() {
      return url;
    },
    token,
    call: (...request) => apiClient(url, token)(...request),
    programs,
    start,
    async kill(name) {
      await running.get(name)?.stop('SIGKILL');
    },
  };
}
