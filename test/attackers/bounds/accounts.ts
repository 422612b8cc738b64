import { Agent, get } from 'node:http';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { serveCellRouter, type CellRouterLimits } from '../../../api/cell-router.ts';
import { sealInvitation } from '../../../api/system/watching.ts';
import { writeToken } from '../../../core/accounts/cells.ts';
import { CANARY, MAX_ADDRESSES } from '../../../core/system/canary.ts';
import { deleteUsedOnce } from '../../../models/accounts/identities.ts';
import { createIdSource } from '../../../models/secrets/ids.ts';
import { Browser, addProviderUser, openIdOf } from '../../api/accounts/open-id/open-id-sign-in.ts';
import { addPerson, addSession, PASSWORD } from '../../api/person.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { startOpenIdProvider } from '../../helpers/open-id-provider.ts';
import { until } from '../../helpers/until.ts';
import { made, numberOf, statusesOf, thenRefused, type Walker } from './walker.ts';

const requests: Walker = async (t) => {
  const { api } = t.context;
  const { owner } = await api.account('free');
  const before = await numberOf(api, 'SELECT count(*) FROM rate_limits');
  t.deepEqual((await statusesOf(61, () => owner('GET', '/v1/usage'))).slice(-2), [200, 429]);
  t.is(await numberOf(api, 'SELECT count(*) FROM rate_limits'), before + 1);
  t.is(
    await numberOf(
      api,
      `SELECT count(*) FROM rate_limits WHERE expire IS NULL OR expire > extract(epoch FROM now()) * 1000 + 86400000`,
    ),
    0,
  );
};

const bodies: Walker = async (t) => {
  const { owner } = await t.context.api.account();
  t.is((await owner('POST', '/v1/monitors', { name: 'x'.repeat(262_144) })).status, 413);
  const many = await owner('POST', '/v1/monitors', {
    name: 'x',
    agent_sources: Array.from({ length: 6000 }, () => 'x'),
  });
  t.is(many.status, 400);
  t.regex(String(many.json['error']), /at most 6000 values/);
};

/** Sends requests through a router in front of an unresponsive cell and a working one. */
const routedRequests: Walker = async (t) => {
  const held: Socket[] = [];
  const silent = await startHttpServer(t, (request) => held.push(request.socket));
  const there = await startHttpServer(t, (_request, response) => response.end('ok'));
  const startRouter = async (limits?: CellRouterLimits) => {
    const router = await serveCellRouter({
      port: 0,
      host: '127.0.0.1',
      cells: [there, silent].map(({ port }, index) => ({ name: `c${index}`, url: `http://127.0.0.1:${port}` })),
      publicUrl: 'http://localhost:3000',
      trustedProxies: [],
      metrics: new Registry(),
      logger: pino({ level: 'silent' }),
      makeId: createIdSource(),
      ...(limits && { limits }),
    });
    t.teardown(() => router.stop(0));
    return `http://127.0.0.1:${router.port}/v1/usage`;
  };
  const asItIsRun = await startRouter();
  t.is((await fetch(asItIsRun, { method: 'POST', body: Buffer.alloc(16 * 2 ** 20 + 1) })).status, 413);

  // Below the default, because a busy machine does not start that many requests at once.
  const most = 50;
  const limits = {
    connections: 1000,
    requestsOfCell: most,
    requestsOfNetwork: 1000,
    bodyBytes: 1000,
    connectMs: 60_000,
    silenceMs: 120_000,
  };
  const url = await startRouter(limits);
  const Authorization = `Bearer ${writeToken('spk', 'c1', 'x'.repeat(43))}`;
  const ending = new AbortController();
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  for (let sent = 0; sent < most; sent += 1)
    get(url, { agent, headers: { Authorization }, signal: ending.signal }).on('error', () => undefined);
  await until(() => held.length === most);
  t.is((await fetch(url, { headers: { Authorization } })).status, 503);
  t.is((await fetch(url)).status, 200, 'another cell has its own limit');
  ending.abort();

  const shared = await startRouter({ ...limits, requestsOfNetwork: 5 });
  const [before, ended] = [held.length, new AbortController()];
  for (let sent = 0; sent < 5; sent += 1)
    get(shared, { agent, headers: { Authorization }, signal: ended.signal }).on('error', () => undefined);
  await until(() => held.length === before + 5);
  t.is((await fetch(shared, { headers: { Authorization } })).status, 429, 'one network may use only part of a cell');
  ended.abort();
};

const guessing: Walker = async (t) => {
  const { api } = t.context;
  const { email } = await addPerson(api, (await api.account()).tenantId);
  t.deepEqual(
    await statusesOf(11, () => api.anonymous('POST', '/v1/session', { email, password: 'not the one' })),
    thenRefused(10, 401, 429),
  );

  const known = await addPerson(api, (await api.account()).tenantId);
  const signIn = () => api.anonymous('POST', '/v1/session', { email: known.email, password: known.password });
  t.deepEqual([...new Set(await statusesOf(27, signIn))], [201]);
  t.is(await numberOf(api, 'SELECT count(*) FROM sign_in_places WHERE user_id = $1', [known.user.id]), 25 + 1);
};

const people: Walker = async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const { call } = await addPerson(api, tenantId);
  const invite = (no: number) =>
    call('POST', '/v1/invitations', { email: `${no}-${tenantId}@example.org`, role: 'viewer' });
  t.deepEqual(await statusesOf(101, invite), thenRefused(100, 201, 409));
  await api.database.pool.query(`UPDATE invitations SET accepted_at = 1 WHERE tenant_id = $1`, [tenantId]);
  await api.database.pool.query(
    `INSERT INTO users (id, tenant_id, email, password_hash, created_at) SELECT 'usr_' || $1 || n, $1, n || $1, '', 0
     FROM generate_series(1, 998) n`,
    [tenantId],
  );
  t.deepEqual(await statusesOf(2, (no) => invite(200 + no)), [201, 409]);

  const [inviting, stranger] = [(await api.account()).tenantId, (await api.account()).tenantId];
  const { email } = await addPerson(api, stranger);
  const owner = await addPerson(api, inviting);
  const invited = await owner.call('POST', '/v1/invitations', { email, role: 'viewer' });
  const token = String(invited.json['url']).split('/').at(-1);
  const accept = () => api.anonymous('POST', '/v1/invitations/accept', { token, name: 'X', password: PASSWORD });
  t.deepEqual(await statusesOf(11, accept), thenRefused(10, 409, 429));
  // A new invitation has attempts of its own, but not an account.
  const acceptAnother = async () => {
    const { json } = await owner.call('POST', '/v1/invitations', { email, role: 'viewer' });
    const body = { token: String(json['url']).split('/').at(-1), name: 'X', password: PASSWORD };
    return await statusesOf(10, () => api.anonymous('POST', '/v1/invitations/accept', body));
  };
  const countKey = `key = 'spotcheck-account-acceptance:' || $1`;
  t.deepEqual(new Set(await acceptAnother()), new Set([409]));
  // The minute must not end meanwhile.
  await api.database.pool.query(`UPDATE rate_limits SET expire = expire + 3600000 WHERE ${countKey}`, [inviting]);
  for (let no = 0; no < 4; no += 1) t.deepEqual(new Set(await acceptAnother()), new Set([409]));
  t.deepEqual(new Set(await acceptAnother()), new Set([429]));
};

const sessions: Walker = async (t) => {
  const { api } = t.context;
  const { user } = await addPerson(api, (await api.account()).tenantId);
  for (let no = 0; no < 60; no += 1) await addSession(api, user);
  t.is(await numberOf(api, 'SELECT count(*) FROM sessions WHERE user_id = $1', [user.id]), 50);
};

const tokens: Walker = async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account('free');
  const { call } = await addPerson(api, tenantId);
  const create = () => call('POST', '/v1/tokens', { name: 'x', scopes: ['read'] });
  t.is((await create()).status, 400);
  await api.database.pool.query('UPDATE api_tokens SET revoked_at = 1 WHERE tenant_id = $1', [tenantId]);
  let status = 0;
  for (let no = 0; no < 120 && status !== 429; no += 1) {
    const created = await create();
    ({ status } = created);
    if (status === 201) await call('DELETE', `/v1/tokens/${created.json['id']}`);
  }
  t.is(status, 429);
  t.true((await numberOf(api, 'SELECT count(*) FROM api_tokens WHERE tenant_id = $1', [tenantId])) <= 102);
};

const agents: Walker = async (t) => {
  const { api } = t.context;
  const [free, other] = [await api.account('free'), await api.account('solo')];
  const [first, second] = [await addPerson(api, free.tenantId), await addPerson(api, other.tenantId)];
  const create = ({ call }: typeof first) => call('POST', '/v1/agents', { name: 'home' });
  t.deepEqual(await statusesOf(2, () => create(first)), [201, 400]);
  let status = 0;
  for (let no = 0; no < 120 && status !== 429; no += 1) {
    const created = await create(second);
    ({ status } = created);
    if (status === 201) await second.call('DELETE', `/v1/agents/${created.json['id']}`);
  }
  t.is(status, 429);
  t.true((await numberOf(api, 'SELECT count(*) FROM agents WHERE tenant_id = $1', [other.tenantId])) <= 100);
};

const auditLog: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const id = await made(owner('POST', '/v1/monitors', { name: 'x' }));
  const count = () => numberOf(api, 'SELECT count(*) FROM audit_log WHERE tenant_id = $1', [tenantId]);
  const before = await count();
  const spec = {
    assertions: Array.from({ length: 12 }, () => ({ source: 'text_body', op: 'contains', value: 'x'.repeat(8000) })),
  };
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { check_spec: spec })).status, 200);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { timeout_ms: 99_000 })).status, 400);
  t.is(await count(), before + 1);
  t.true(
    (await numberOf(api, 'SELECT max(length(changes::text)) FROM audit_log WHERE tenant_id = $1', [tenantId])) < 16_384,
  );
};

/** Checks that an unverified sign-in stores nothing, and that a verified user has one identity. */
const providerSignIns: Walker = async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const provider = await startOpenIdProvider();
  t.teardown(() => provider.close());
  const provisionDomains = [{ domain: 'example.com', tenantId }];
  const url = await api.another({ openId: openIdOf(provider, { provisionDomains }) });
  const count = () =>
    numberOf(
      api,
      `SELECT (SELECT count(*) FROM open_id_identities) + (SELECT count(*) FROM open_id_sessions)
         + (SELECT count(*) FROM open_id_used)`,
    );
  const before = await count();
  const browser = new Browser(url);
  const address = new URL(await browser.begin());
  const query = new URLSearchParams({
    code: 'x',
    iss: provider.issuer,
    state: address.searchParams.get('state') ?? '',
  });
  t.is((await browser.open(`${url}/connect/open-id?${query}`)).status, 400);
  const logout = { method: 'POST', body: new URLSearchParams({ logout_token: await provider.sign({ jti: 'x' }) }) };
  t.is((await fetch(`${url}/connect/open-id/logout`, logout)).status, 400);
  t.is(await count(), before);
  const sub = addProviderUser(provider);
  for (const one of [new Browser(url), new Browser(url)]) t.is((await one.signIn(provider, sub)).status, 303);
  t.is(await numberOf(api, 'SELECT count(*) FROM open_id_identities WHERE subject = $1', [sub]), 1);
  t.is(await count(), before + 5);
  await deleteUsedOnce(api.database, Date.now() + 601_000);
  t.is(await numberOf(api, 'SELECT count(*) FROM open_id_used'), 0);
};

/** Checks that peers can create at most ten addresses, one per invitation, with at most 30 requests a minute. */
const ownWatch: Walker = async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const expiresAt = Math.floor(Date.now() / 1000) + 60;
  const join = (no: number) => {
    const invitation = sealInvitation({ tenantId, monitorId: api.makeId('mon'), expiresAt }, api.database);
    const peer = `https://peer-${no}.example`;
    return api.anonymous('POST', '/connect/watch', {
      invitation,
      peer_url: peer,
      ping_url: `${peer}/ping/mon_1.x`,
      every_seconds: 30,
    });
  };
  t.deepEqual(await statusesOf(MAX_ADDRESSES + 1, join), thenRefused(MAX_ADDRESSES, 201, 400));
  t.is(await numberOf(api, 'SELECT count(*) FROM channels WHERE tenant_id = $1', [CANARY.tenantId]), MAX_ADDRESSES);
  t.is(await numberOf(api, 'SELECT count(*) FROM monitors WHERE tenant_id = $1', [tenantId]), MAX_ADDRESSES);
  const rest = await Promise.all(Array.from({ length: 31 }, (_, no) => join(no)));
  t.true(rest.some(({ status }) => status === 429));
};

/** Walkers of accounts and their members. */
export const ACCOUNT_WALKERS: Readonly<Record<string, Walker>> = {
  'what watches the service itself': ownWatch,
  requests,
  'bodies of requests': bodies,
  'requests through a router': routedRequests,
  guessing,
  people,
  sessions,
  'sign-ins by a provider': providerSignIns,
  'API tokens': tokens,
  agents,
  'audit log': auditLog,
};
