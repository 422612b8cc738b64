import { randomBytes } from 'node:crypto';
import { generateToken } from '../../models/accounts/api-tokens.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { startAgentProxy, type AgentProxy, type AgentProxyOptions } from './agent-proxy.ts';
import { createTestDatabase } from './database.ts';
import type { Harness } from './harness.ts';
import { startProgram, type Program } from './program.ts';
import { newDataDir, startService, type Service } from './running-service.ts';
import { withClient } from './with-client.ts';

/**
 * The whole service on a database that outlives it, so that it can be killed and restarted. Private agents reach it at
 * its current URL.
 */
export type Installation = {
  databaseUrl: string;
  service: Service;
  /** Restarts the service on another port, with some variables changed. */
  restart: (changed?: Record<string, string>) => Promise<void>;
  /** Creates an agent of the first tenant and starts the program with its token. */
  startAgent: (
    name: string,
    options?: { distort?: AgentProxyOptions['distort']; env?: Record<string, string> },
  ) => Promise<OwnAgent>;
};

/** A running private agent. */
export type OwnAgent = {
  id: string;
  name: string;
  token: string;
  dataDir: string;
  proxy: AgentProxy;
  program: Program;
  start: () => Program;
};

/** Starts an installation that works without shared agents. */
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
  const installation: Installation = {
    databaseUrl,
    service: await startService(t, serviceEnv, token),
    async restart(changed = {}) {
      installation.service = await startService(t, { ...serviceEnv, ...changed }, token);
    },
    async startAgent(name, { distort, env: agentEnv = {} } = {}) {
      const { id, agentToken } = await createOwnAgent(databaseUrl, name);
      const proxy = await startAgentProxy(t, {
        serviceUrl: () => installation.service.url,
        ...(distort !== undefined && { distort }),
      });
      const dataDir = await newDataDir(t);
      const start = () =>
        startProgram(t, ['agent/main.ts'], {
          SPOTCHECK_URL: proxy.url,
          SPOTCHECK_AGENT_TOKEN: agentToken,
          DATA_DIR: dataDir,
          AGENT_PULL_SECONDS: '1',
          ...agentEnv,
        });
      const agent = { id, name, token: agentToken, dataDir, proxy, program: start(), start };
      await proxy.nextPull();
      return agent;
    },
  };
  return installation;
}

/** Stores an agent of the first tenant, like `agent create` but faster. */
export async function createOwnAgent(databaseUrl: string, name: string): Promise<{ id: string; agentToken: string }> {
  const [id, agentToken] = [createIdSource()('agt'), generateToken('spa')];
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO agents (id, tenant_id, kind, name, token_fingerprint, created_at)
       SELECT $1, id, 'tenant', $2, $3, $4 FROM tenants ORDER BY created_at, id LIMIT 1`,
      [id, name, fingerprintOf(agentToken), Math.floor(Date.now() / 1000)],
    ),
  );
  return { id, agentToken };
}
