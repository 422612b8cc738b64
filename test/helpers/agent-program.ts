import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { startAgentServer, type AgentServer } from './agent-server.ts';
import type { Harness } from './harness.ts';
import { outputMatching, startProgram, type Program } from './program.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The agent program and a server for it. */
export type AgentFixture = {
  server: AgentServer;
  /** Folder of the agent. */
  folder: string;
  start: (env?: Record<string, string>) => Program;
  /** Starts the agent and waits until it has checked in. */
  startConnected: (env?: Record<string, string>) => Promise<Program>;
};

/** Shares the compile cache among all agents of a test run. */
const COMPILED: Record<string, string> =
  process.env['NODE_COMPILE_CACHE'] === undefined ? {} : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

const TOKEN = 'spa_of-this-test';

/** Starts the server; all agents of a fixture share a token and a folder. */
export async function startAgentFixture(t: Harness): Promise<AgentFixture> {
  const server = await startAgentServer(t);
  const dataDir = await temporaryFolder(t);
  const settings = {
    SPOTCHECK_URL: server.url,
    SPOTCHECK_AGENT_TOKEN: TOKEN,
    DATA_DIR: dataDir,
    AGENT_PULL_SECONDS: '1',
    ...COMPILED,
  };
  const start = (env: Record<string, string> = {}) => startProgram(t, ['agent/main.ts'], { ...settings, ...env });
  return {
    server,
    folder: join(dataDir, 'agents', createHash('sha256').update(TOKEN).digest('hex').slice(0, 16)),
    start,
    async startConnected(env) {
      const program = start(env);
      await outputMatching(program, /service\.connected/);
      return program;
    },
  };
}

/** Returns the time of the newest unsent result on an agent's disk, in Unix milliseconds; -Infinity without one. */
export async function newestOnDiskMs(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => basename(name).startsWith('results-'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  // The last line may be incomplete.
  const lines = texts.flatMap((text) => text.split('\n').slice(0, -1));
  return Math.max(...lines.map((line) => JSON.parse(line).ts * 1000));
}
