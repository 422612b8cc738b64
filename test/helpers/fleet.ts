import { randomBytes } from 'node:crypto';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { apiClient, type ApiClient } from './api-client.ts';
import type { Harness } from './harness.ts';
import { outputMatching, startProgram, type Program } from './program.ts';
import { runInSequence } from './run-in-sequence.ts';

/** The processes of one installation, each by its name. */
export type Fleet = {
  /** Where the API is; another place after each start of `web`. */
  readonly url: string;
  /** An API token, and calls with it. */
  token: string;
  call: ApiClient;
  /** Every process that was started, the killed ones too. */
  programs: readonly Program[];
  /** Kills the process of that name as kill -9 does. */
  kill: (name: ProcessName) => Promise<void>;
  /** Starts another process of that name and waits until it works. */
  start: (name: ProcessName) => Promise<Program>;
};

const { release: RELEASE, ...PROCESSES } = FLEET;
const NAMES = Object.keys(PROCESSES) as ProcessName[];

/** Prepares a database and starts one process of each kind on it, with Redis where its URL is given. */
export async function startFleet(t: Harness, given: Record<string, string> & { DATABASE_URL: string }): Promise<Fleet> {
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
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
    const program = startProgram(t, PROCESSES[name], env);
    programs.push(program);
    running.set(name, program);
    await outputMatching(program, /process\.started/);
    if (name === 'web') url = `http://127.0.0.1:${/"port":(\d+)/.exec(program.output())?.[1]}`;
    return program;
  };
  await runInSequence(async () => {
    const migrated = startProgram(t, RELEASE, env);
    if ((await migrated.exited) !== 0) throw new Error(migrated.output());
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
