import { createHash } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { pino } from 'pino';
import { generateToken, revokeApiToken } from '../../models/accounts/api-tokens.ts';
import { revokeAgent } from '../../models/agents/agents.ts';
import { agentCaller } from '../api/agents/agent-caller.ts';
import { send, withApiServer, type Answer, type ApiServer } from '../api/api-server.ts';
import { recordStatements } from '../helpers/database.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const logLines: string[] = [];
withApiServer(test, { logger: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }) });

test.serial(
  'a token is looked up only by its SHA-256 and never stored, so timing reveals nothing about a guess',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const agent = await agentCaller(api, account);
    const guess = `${account.ownerToken.slice(0, -1)}${account.ownerToken.endsWith('A') ? 'B' : 'A'}`;
    const { pool } = api.database;
    // All statements of the authentication are outside of transactions.
    const statements = recordStatements(t, api.database);
    t.is((await account.owner('GET', '/v1/overview')).status, 200);
    t.is((await api.anonymous('GET', '/v1/overview', undefined, { Authorization: `Bearer ${guess}` })).status, 401);
    t.is((await agent.post('pull', { capabilities: ['http'] })).status, 200);
    const said = JSON.stringify(statements);
    for (const token of [account.ownerToken, guess, agent.token]) {
      t.false(said.includes(token.slice(4)), 'the token itself is in no query');
      t.true(
        said.includes(JSON.stringify(createHash('sha256').update(token).digest())),
        'its fingerprint is in a query',
      );
    }
    const { rows } = await pool.query<{ text: string }>(
      'SELECT to_jsonb(t)::text AS text FROM api_tokens t UNION ALL SELECT to_jsonb(a)::text FROM agents a',
    );
    t.deepEqual(
      [account.ownerToken, agent.token].filter((token) => rows.some(({ text }) => text.includes(token.slice(4)))),
      [],
    );
  },
);

test.serial('a revoked token is rejected at once in every process, even right after use', async (t) => {
  const { api } = t.context;
  const other = await api.another();
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const ask = async () =>
    [
      await account.owner('GET', '/v1/monitors'),
      await account.owner('GET', '/v1/monitors', undefined, {}, other),
      await agent.post('pull', { capabilities: ['http'] }),
      await agent.post('pull', { capabilities: ['http'] }, {}, other),
    ].map(({ status }) => status);
  t.deepEqual(await ask(), [200, 200, 200, 200]);
  const { rows } = await api.database.pool.query<{ id: string }>(`SELECT id FROM api_tokens WHERE tenant_id = $1`, [
    account.tenantId,
  ]);
  for (const { id } of rows) await revokeApiToken(api.database, { id, nowMs: Date.now(), author: null });
  await revokeAgent(api.database, { id: agent.id, nowMs: Date.now(), author: null });
  t.deepEqual(await ask(), [401, 401, 401, 401]);
});

test.serial('no token is logged, whether it was in a header, path, query or body', async (t) => {
  const { api } = t.context;
  const { ownerToken, owner } = await api.account();
  const [apiGuess, agentGuess] = [generateToken('spk'), generateToken('spa')];
  for (const token of [ownerToken, apiGuess, agentGuess]) {
    await api.anonymous('GET', '/v1/monitors', undefined, { Authorization: `Bearer ${token}` });
    await api.anonymous('GET', `/v1/monitors/${token}?token=${token}`, undefined, {
      'X-Api-Key': token,
      Cookie: `token=${token}`,
      'User-Agent': token,
      Referer: `http://a.example/${token}`,
    });
    await api.anonymous('POST', `/ping/${token}.x/start`);
    await api.anonymous('POST', `/telegram/${token}`, {});
    await api.anonymous('GET', `/connect/slack?code=${token}&state=${token}`);
    await owner('POST', '/v1/monitors', {
      name: 'x',
      [token]: token,
      check_spec: { request: { auth: { type: 'bearer', token } } },
    });
    await owner('POST', '/v1/monitors', `{"name":"${token}`);
  }
  t.true(logLines.length > 20);
  t.deepEqual(
    logLines.filter((line) => [ownerToken, apiGuess, agentGuess].some((token) => line.includes(token.slice(4)))),
    [],
  );
});

test.serial(
  'a Telegram code connects its own channel once; a forged, expired, deleted or used one connects none',
  async (t) => {
    const { api } = t.context;
    const [alice, bob] = [await api.account(), await api.account()];
    const create = async ({ owner }: typeof alice, type: 'telegram' | 'slack') =>
      (await owner('POST', '/v1/channels', { type, name: type })).json;
    const codeOf = (created: Record<string, unknown>) =>
      new URL(String(created['deep_link'])).searchParams.get('start') ?? '';
    const [late, deleted, used, untouched, slack] = [
      await create(alice, 'telegram'),
      await create(alice, 'telegram'),
      await create(alice, 'telegram'),
      await create(bob, 'telegram'),
      await create(bob, 'slack'),
    ];
    await api.database.pool.query('UPDATE connect_codes SET expires_at = $2 WHERE channel_id = $1', [
      late['id'],
      Math.floor(Date.now() / 1000),
    ]);
    await alice.owner('DELETE', `/v1/channels/${deleted['id']}`);
    t.regex(sayingOf(await start(api, 1, codeOf(used))), /Connected to Spotcheck/);

    const state = new URL(String(slack['authorize_url'])).searchParams.get('state') ?? '';
    const good = codeOf(untouched);
    const forged = [
      'A'.repeat(good.length),
      good.slice(0, -1),
      `${good}A`,
      `${good.slice(0, -1)}${good.endsWith('A') ? 'B' : 'A'}`,
      good.toUpperCase() === good ? good.toLowerCase() : good.toUpperCase(),
      `' OR '1'='1`,
      untouched['id'],
      state,
    ];
    for (const code of [...forged, codeOf(late), codeOf(deleted), codeOf(used)])
      t.notRegex(sayingOf(await start(api, 2, code)), /Connected to Spotcheck/, code);

    const valid = async ({ owner }: typeof alice, created: Record<string, unknown>) =>
      (await owner('GET', `/v1/channels/${created['id']}`)).json['status'];
    t.deepEqual(
      [await valid(alice, late), await valid(alice, used), await valid(bob, untouched), await valid(bob, slack)],
      ['pending', 'connected', 'pending', 'pending'],
    );
    const { rows } = await api.database.pool.query<{ chat_id: string }>(
      'SELECT chat_id FROM channels WHERE chat_id IS NOT NULL',
    );
    t.deepEqual(
      rows.map(({ chat_id: chat }) => chat),
      ['1'],
      'the second chat is connected to no channel',
    );
    t.regex(sayingOf(await start(api, 3, good)), /Connected to Spotcheck/, 'the code that was guessed at still works');
  },
);

let updates = 900_000_000;

/** Sends the update that Telegram sends when a user presses start in a chat. */
async function start({ database: { secrets }, url }: ApiServer, chat: number, code: string): Promise<Answer> {
  updates += 1;
  const body = {
    update_id: updates,
    message: {
      message_id: 1,
      from: { id: chat, is_bot: false, first_name: 'Eve' },
      chat: { id: chat, first_name: 'Eve', type: 'private' },
      date: 1,
      text: `/start ${code}`,
    },
  };
  return await send(`${url}/telegram/${secrets.derive('telegram:webhook-path')[0]}`, {
    method: 'POST',
    body,
    headers: { 'X-Telegram-Bot-Api-Secret-Token': secrets.derive('telegram:webhook-header')[0] },
  });
}

function sayingOf({ json }: Answer): string {
  return String(json['text'] ?? '');
}
