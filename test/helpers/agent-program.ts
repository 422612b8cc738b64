import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { startAgentServer, type AgentServer } from './agent-server.ts';
import type { Harness } from './harness.ts';
import { outputMatching, startProgram, type Program } from './program.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The agent program beside a server of the test's own. */
export type AgentFixture = {
  server: AgentServer;
  /** The agent's own folder. */
  folder: string;
  start: (env?: Record<string, string>) => Program;
  /** Starts it and waits until it has checked in. */
  startConnected: (env?: Record<string, string>) => Promise<Program>;
};

/** What was compiled for one of the agents of a test run need not be compiled for the next. */
const COMPILED: Record<string, string> =
  process.env['NODE_COMPILE_CACHE'] === undefined ? {} : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

const TOKEN = 'spa_of-this-test';

/** Starts the server; the agents of one fixture have one token and one folder. */
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
