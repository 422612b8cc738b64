import { generateToken } from '../../../models/accounts/api-tokens.ts';
import { createAgent } from '../../../models/agents/agents.ts';
import { fingerprintOf } from '../../../models/secrets/secret-box.ts';
import { send, type Account, type Answer, type ApiServer } from '../api-server.ts';

// oxlint-disable max-params -- a call reads like the request that it sends: path, body, headers

/** A private agent whose protocol requests the test writes by hand. */
export type AgentCaller = {
  id: string;
  no: number;
  name: string;
  token: string;
  /** Sends `POST /agent/v1/<path>`; a string body is sent unchanged. */
  post: (
    path: 'pull' | 'ingest' | 'discoveries' | 'discovery',
    body: unknown,
    headers?: Record<string, string>,
    base?: string,
  ) => Promise<Answer>;
  /** Creates a monitor for this agent and returns its id. It is two days old, so that it can have older results. */
  watch: (monitor: object) => Promise<string>;
};

export type Work = { monitorId: string; type: string } & Record<string, unknown>;

/** Creates a private agent of an account. */
export async function agentCaller(
  { database, makeId, url }: ApiServer,
  { tenantId, owner }: Pick<Account, 'tenantId' | 'owner'>,
  name = 'home-lab',
): Promise<AgentCaller> {
  const token = generateToken('spa');
  const { id, no } = await createAgent(database, {
    id: makeId('agt'),
    tenantId,
    name,
    region: null,
    tokenFingerprint: fingerprintOf(token),
    nowMs: Date.now(),
  });
  return {
    id,
    no,
    name,
    token,
    post: (path, body, headers = {}, base = url) =>
      send(`${base}/agent/v1/${path}`, {
        method: 'POST',
        body,
        headers: { Authorization: `Bearer ${token}`, ...headers },
      }),
    async watch(monitor) {
      const { status, json, text } = await owner('POST', '/v1/monitors', {
        name: 'Watched',
        target: 'https://shop.example',
        agent_sources: [id],
        ...monitor,
      });
      if (status !== 201) throw new Error(text);
      await database.pool.query('UPDATE monitors SET created_at = created_at - 172800 WHERE id = $1', [json['id']]);
      return json['id'];
    },
  };
}

/** Returns the work in the response to a pull. */
export function workOf({ json, text }: Answer): Work[] {
  if (!Array.isArray(json['work'])) throw new Error(text);
  return json['work'];
}
