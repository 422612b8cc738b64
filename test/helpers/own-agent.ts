import { randomBytes } from 'node:crypto';
import { startAgentProxy, type AgentProxy, type AgentProxyOptions } from './agent-proxy.ts';
import { runSpotcheck } from './command.ts';
import { createTestDatabase } from './database.ts';
import type { Harness } from './harness.ts';
import { startProgram, type Program } from './program.ts';
import { newDataDir, startService, type Service } from './running-service.ts';

/**
 * The whole service on a database that outlives it, so that it can be killed and started again; customers' agents reach
 * it wherever it is.
 */
export type Installation = {
  databaseUrl: string;
  service: Service;
  /** Starts it again, on another port, with some of its variables changed. */
  restart: (changed?: Record<string, string>) => Promise<void>;
  /** Makes an agent of the first tenant and starts the program with its token. */
  startAgent: (
    name: string,
    options?: { distort?: AgentProxyOptions['distort']; env?: Record<string, string> },
  ) => Promise<OwnAgent>;
};

/** A customer's agent while it runs. */
export type OwnAgent = {
  id: string;
  name: string;
  token: string;
  dataDir: string;
  proxy: AgentProxy;
  program: Program;
  start: () => Program;
};

/** Starts an installation without any shared agent's help being needed. */
export async function startInstallation(t: Harness, env: Record<string, string> = {}): Promise<Installation> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const serviceEnv = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
    ...env,
  };
  const administer = async (...args: string[]) => {
    const { status, stdout, stderr } = await runSpotcheck([...args, '--json'], serviceEnv);
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const installation: Installation = {
    databaseUrl,
    service: await startService(t, serviceEnv, token),
    async restart(changed = {}) {
      installation.service = await startService(t, { ...serviceEnv, ...changed }, token);
    },
    async startAgent(name, { distort, env: agentEnv = {} } = {}) {
      const [tenant] = await administer('tenant', 'list');
      const made = await administer('agent', 'create', '--tenant', tenant.id, '--name', name);
      const proxy = await startAgentProxy(t, {
        serviceUrl: () => installation.service.url,
        ...(distort !== undefined && { distort }),
      });
      const dataDir = await newDataDir(t);
      const start = () =>
        startProgram(t, ['agent/main.ts'], {
          SPOTCHECK_URL: proxy.url,
          SPOTCHECK_AGENT_TOKEN: made.token,
          DATA_DIR: dataDir,
          AGENT_PULL_SECONDS: '1',
          ...agentEnv,
        });
      const agent = { id: String(made.id), name, token: String(made.token), dataDir, proxy, program: start(), start };
      await proxy.nextPull();
      return agent;
    },
  };
  return installation;
}
