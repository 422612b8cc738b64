import anyTest, { type TestFn } from 'ava';
import { isError, send, withApiServer, type ApiServer } from './api-server.ts';
import { agentCaller } from './agent-caller.ts';
import { addPerson } from './person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const DAY = 86_400;
const nowSeconds = () => Math.floor(Date.now() / 1000);

test('a token is shown to who makes it and to nobody after, works with the scopes that it was made with, and ends when it is revoked', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const owner = await addPerson(api, account.tenantId);
  const expiresAt = nowSeconds() + DAY;
  const made = await owner.call('POST', '/v1/tokens', { name: ' Dashboard ', scopes: ['read'], expires_at: expiresAt });
  t.is(made.status, 201, made.text);
  t.is(made.headers.get('cache-control'), 'no-store');
  t.like(made.json, { name: ' Dashboard ', scopes: ['read'], expires_at: expiresAt, revoked_at: null, last_used_at: null });
  const bearer = { Authorization: `Bearer ${String(made.json['token'])}` };
  t.is((await api.anonymous('GET', '/v1/monitors', undefined, bearer)).status, 200);
  isError(t, await api.anonymous('POST', '/v1/monitors', { name: 'x' }, bearer), { status: 403, error: 'this token lacks the scope write' });

  const writer = await owner.call('POST', '/v1/tokens', { name: 'CI', scopes: ['write', 'read', ] });
  t.like(writer.json, { scopes: ['read', 'write'], expires_at: null });
  const listed = await owner.call('GET', '/v1/tokens');
  t.false(listed.text.includes('spk_'));
  t.deepEqual((listed.json['tokens'] as { name: string }[]).map(({ name }) => name), ['test', 'test', ' Dashboard ', 'CI']);
  t.is((listed.json['tokens'] as { last_used_at: number | null }[])[3]?.last_used_at, null);
  t.not((listed.json['tokens'] as { last_used_at: number | null }[])[2]?.last_used_at, null);

  const path = `/v1/tokens/${String(made.json['id'])}`;
  t.deepEqual([(await owner.call('DELETE', path)).status, (await owner.call('DELETE', path)).status], [204, 404]);
  t.is((await api.anonymous('GET', '/v1/monitors', undefined, bearer)).status, 401);
  // One that ended is listed for a month, so that people see what became of it.
  const ended = async () => ((await owner.call('GET', '/v1/tokens')).json['tokens'] as { id: string }[]).some(({ id }) => id === made.json['id']);
  t.true(await ended());
  await api.database.pool.query('UPDATE api_tokens SET revoked_at = $2 WHERE id = $1', [made.json['id'], nowSeconds() - 31 * DAY]);
  t.false(await ended());
});

test("of the plan's tokens only those count that are good, and one more is refused with the way out", async (t) => {
  const { api } = t.context;
  const account = await api.account('free');
  const owner = await addPerson(api, account.tenantId);
  isError(t, await owner.call('POST', '/v1/tokens', { name: 'third', scopes: ['read'] }), { status: 400, error: 'the free plan allows at most 2 API tokens, and this account has them all: revoke one first' });
  const { tokens } = (await owner.call('GET', '/v1/tokens')).json as { tokens: { id: string }[] };
  t.is((await owner.call('DELETE', `/v1/tokens/${tokens[0]?.id ?? ''}`)).status, 204);
  const [one, other] = await Promise.all(['a', 'b'].map((name) => owner.call('POST', '/v1/tokens', { name, scopes: ['read'] })));
  t.deepEqual([one?.status, other?.status].toSorted(), [201, 400], 'two at once do not slip through');
});

test('bad tokens are refused with a sentence for the field', async (t) => {
  const { api } = t.context;
  const owner = await addPerson(api, (await api.account()).tenantId);
  const refused: [object, RegExp][] = [
    [{ scopes: ['read'] }, /^name /],
    [{ name: '', scopes: ['read'] }, /^name must be a text of 1 to 255 characters/],
    [{ name: '  ', scopes: ['read'] }, /^name must be a text with more than blanks$/],
    [{ name: 'a\nb', scopes: ['read'] }, /^name must be a text without control characters$/],
    [{ name: 'x', scopes: ['write'] }, /^scopes must be \["read"\] or \["read", "write"\]/],
    [{ name: 'x', scopes: [] }, /^scopes /],
    [{ name: 'x', scopes: ['manage'] }, /^scopes\[0\] must be one of read, write/],
    [{ name: 'x', scopes: ['read'], expires_at: nowSeconds() - 1 }, /^expires_at must be a time to come/],
    [{ name: 'x', scopes: ['read'], token: 'spk_mine' }, /token/],
  ];
  for (const [body, error] of refused) isError(t, await owner.call('POST', '/v1/tokens', body), { status: 400, error });
});

test('tokens are seen to by owners alone: not by other members, and not by a token, which could make itself a longer life', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const editor = await addPerson(api, account.tenantId, { role: 'editor' });
  const stranger = await addPerson(api, (await api.account()).tenantId);
  const owner = await addPerson(api, account.tenantId);
  const { json: { id } } = await owner.call('POST', '/v1/tokens', { name: 'x', scopes: ['read'] });
  for (const [method, path, body] of [['GET', '/v1/tokens'], ['POST', '/v1/tokens', { name: 'x', scopes: ['read'] }], ['DELETE', `/v1/tokens/${String(id)}`]] as const) {
    isError(t, await editor.call(method, path, body), { status: 403, error: 'this needs the role owner, and you are editor' });
    isError(t, await account.owner(method, path, body), { status: 403, error: /no API token can do it$/ });
  }
  isError(t, await stranger.call('DELETE', `/v1/tokens/${String(id)}`), { status: 404, error: `token ${String(id)} does not exist` });
});

test('a new agent checks in with the token that its making shows, beside the command that starts it', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const editor = await addPerson(api, account.tenantId, { role: 'editor' });
  const made = await editor.call('POST', '/v1/agents', { name: 'home-lab', region: 'Hanoi' });
  t.is(made.status, 201, made.text);
  t.is(made.headers.get('cache-control'), 'no-store');
  const { id, token, ...rest } = made.json as { id: string; token: string };
  t.deepEqual(rest, { name: 'home-lab', region: 'Hanoi', install_command: `SPOTCHECK_URL=${api.url} SPOTCHECK_AGENT_TOKEN=${token} npm run agent` } as object);
  const pull = async (bearer: string) => (await send(`${api.url}/agent/v1/pull`, { method: 'POST', body: { capabilities: ['http'] }, headers: { Authorization: `Bearer ${bearer}` } })).status;
  t.is(await pull(token), 200);
  const read = await account.reader('GET', `/v1/agents/${id}`);
  t.like(read.json, { id, name: 'home-lab', region: 'Hanoi', kind: 'tenant', tenant_id: account.tenantId });
  t.false(read.text.includes('spa_'));

  const rotated = await editor.call('POST', `/v1/agents/${id}/rotate`);
  t.is(rotated.status, 200);
  t.regex(String(rotated.json['install_command']), new RegExp(`SPOTCHECK_AGENT_TOKEN=${String(rotated.json['token'])} `));
  t.deepEqual([await pull(token), await pull(String(rotated.json['token']))], [401, 200]);
  for (const body of [{ name: ' ' }, { name: 'a\u0000' }, { name: 'x', region: '\u0007' }, { name: 'x', region: '' }, {}]) t.is((await editor.call('POST', '/v1/agents', body)).status, 400);
  t.is((await editor.call('POST', '/v1/agents', { name: 'x', region: null })).status, 201);
});

test("agents are made and given new tokens by who may change things, within the plan, and only the account's own", async (t) => {
  const { api } = t.context;
  const account = await api.account('free');
  const own = await agentCaller(api, account);
  const owner = await addPerson(api, account.tenantId);
  const viewer = await addPerson(api, account.tenantId, { role: 'viewer' });
  const stranger = await addPerson(api, (await api.account()).tenantId);
  isError(t, await owner.call('POST', '/v1/agents', { name: 'second' }), { status: 400, error: 'the free plan allows at most 1 agent of your own, and this account has as many: delete one first' });
  isError(t, await viewer.call('POST', '/v1/agents', { name: 'x' }), { status: 403, error: 'this needs the role editor, and you are viewer' });
  isError(t, await account.owner('POST', `/v1/agents/${own.id}/rotate`), { status: 403, error: /no API token can do it$/ });
  isError(t, await stranger.call('POST', `/v1/agents/${own.id}/rotate`), { status: 404, error: `agent ${own.id} does not exist` });
  const { agents } = (await account.reader('GET', '/v1/agents?kind=first_party')).json as { agents: { id: string }[] };
  isError(t, await owner.call('POST', `/v1/agents/${agents[0]?.id ?? ''}/rotate`), { status: 403, error: /is shared by everyone, and its token is not yours to change$/ });
  t.is((await own.post('pull', { capabilities: ['http'] })).status, 200, 'its token is the old one');
});

test('what is used of a plan is counted as the limits count it', async (t) => {
  const { api } = t.context;
  const account = await api.account('solo');
  await account.owner('POST', '/v1/monitors', { name: 'x' });
  await agentCaller(api, account);
  const viewer = await addPerson(api, account.tenantId, { role: 'viewer' });
  const usage = {
    plan: 'solo',
    limits: { monitors: 100, own_agents: 3, tokens: 10, requests_per_minute: 600, min_interval_seconds: 30, result_days: 30 },
    used: { monitors: 1, own_agents: 1, tokens: 2, channels: 0, members: 1 },
  };
  t.deepEqual((await account.reader('GET', '/v1/usage')).json, usage);
  t.deepEqual((await viewer.call('GET', '/v1/usage')).json, usage);
  const uncounted = await api.another({ config: { publicUrl: api.url, planCountLimits: false, telegramBotName: null, slackClientId: null } });
  t.like((await account.reader('GET', '/v1/usage', undefined, {}, uncounted)).json['limits'] as object, { monitors: null, own_agents: null, tokens: 10 });
});
