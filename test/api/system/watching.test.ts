import anyTest, { type TestFn } from 'ava';
import { sealInvitation } from '../../../api/system/watching.ts';
import { MAX_ADDRESSES } from '../../../core/system/canary.ts';
import { listCanaryAddresses, openCanaryAddress, storeCanaryAddress } from '../../../models/system/canary-addresses.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const PATH = '/connect/watch';

function invitationOf(api: ApiServer, tenantId: string, seconds = 3600): string {
  const invitation = { tenantId, monitorId: api.makeId('mon'), expiresAt: Math.floor(Date.now() / 1000) + seconds };
  return sealInvitation(invitation, api.database);
}

function requestOf(name: string, invitation: string) {
  const peer = `https://${name}.example`;
  return { invitation, peer_url: peer, ping_url: `${peer}/ping/mon_1.secret-of-the-peer`, every_seconds: 30 };
}

test('/canary returns the required state of the canary to anyone, and a 503 without one', async (t) => {
  const { anonymous } = t.context.api;
  t.like(await anonymous('GET', '/canary'), { status: 503, text: 'The canary keeps its state' });
  t.is((await anonymous('POST', '/canary')).status, 405);
});

test('an invited installation gets one heartbeat, is pinged, and can leave again', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  const joined = await api.anonymous('POST', PATH, requestOf('first', invitationOf(api, tenantId)));
  t.is(joined.status, 201, joined.text);
  t.false(joined.json['is_notified']);
  const shown = await owner('GET', `/v1/monitors/${joined.json['monitor_id']}`);
  t.like(shown.json, {
    name: 'Spotcheck at https://first.example',
    type: 'heartbeat',
    interval_seconds: 60,
    heartbeat_grace_seconds: 20,
  });
  const token = String(joined.json['ping_url']).split('/ping/').at(-1);
  t.is((await api.anonymous('POST', `/ping/${token}`)).status, 200);
  const address = (await listCanaryAddresses(api.database)).find(({ name }) => name === 'https://first.example');
  t.like(address, { origin: 'peer', monitorId: joined.json['monitor_id'] });

  const again = {
    ...requestOf('first', invitationOf(api, tenantId)),
    ping_url: 'https://first.example/ping/new',
    token,
  };
  t.like((await api.anonymous('POST', PATH, again)).json, joined.json);
  const addresses = await listCanaryAddresses(api.database);
  const same = addresses.filter(({ name }) => name === 'https://first.example');
  t.is(same.length, 1);
  t.is(await openCanaryAddress(api.database, same[0]?.channelId ?? ''), again.ping_url);

  const left = await api.anonymous('DELETE', PATH, { peer_url: 'https://first.example', token });
  t.is(left.status, 204, left.text);
  t.is((await owner('GET', `/v1/monitors/${joined.json['monitor_id']}`)).status, 404);
  t.false((await listCanaryAddresses(api.database)).some(({ name }) => name === 'https://first.example'));
});

test('an invitation is valid for one installation, and reveals no heartbeat of another one', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  const invitation = invitationOf(api, tenantId);
  const joined = await api.anonymous('POST', PATH, requestOf('invited', invitation));
  t.is(joined.status, 201, joined.text);
  t.like((await api.anonymous('POST', PATH, requestOf('invited', invitation))).json, joined.json);
  const second = await api.anonymous('POST', PATH, requestOf('friend', invitation));
  t.is(second.status, 400);
  t.regex(second.text, /invitation was used already/);

  const once = invitationOf(api, tenantId);
  const both = await Promise.all(['left', 'right'].map((name) => api.anonymous('POST', PATH, requestOf(name, once))));
  t.deepEqual(both.map(({ status }) => status).toSorted(), [201, 400]);

  const mallory = await api.account();
  const stolen = {
    ...requestOf('invited', invitationOf(api, mallory.tenantId)),
    ping_url: 'https://invited.example/ping/x',
  };
  for (const token of [undefined, 'x', joined.json['monitor_id']]) {
    const { status, text } = await api.anonymous('POST', PATH, { ...stolen, token });
    t.is(status, 400);
    t.regex(text, /is watched already/);
    t.false(text.includes('/ping/'));
  }
  const address = (await listCanaryAddresses(api.database)).find(({ name }) => name === 'https://invited.example');
  t.not(await openCanaryAddress(api.database, address?.channelId ?? ''), stolen.ping_url);
  t.is((await owner('GET', '/v1/monitors')).json['monitors'].length, 2);
  t.deepEqual((await mallory.owner('GET', '/v1/monitors')).json, { monitors: [] });
});

test('without a valid invitation nothing is created', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  const made = [-1, 2 * 3600].map((seconds) => invitationOf(api, tenantId, seconds));
  for (const invitation of ['', 'v1.k1.AAAA', ...made, tenantId]) {
    const { status, json } = await api.anonymous('POST', PATH, requestOf('bad', invitation));
    t.is(status, 400);
    t.regex(String(json['error']), /invitation is not valid/);
  }
  const gone = await api.anonymous('POST', PATH, requestOf('bad', invitationOf(api, 'ten_gone')));
  t.regex(gone.text, /account that was to watch no longer exists/);
  const own = { ...requestOf('bad', invitationOf(api, tenantId)), peer_url: 'nonsense' };
  t.regex((await api.anonymous('POST', PATH, own)).text, /peer_url must be/);
  t.deepEqual((await owner('GET', '/v1/monitors')).json, { monitors: [] });
  t.false((await listCanaryAddresses(api.database)).some(({ name }) => name.includes('bad')));
});

test('an account at its monitor limit watches no further installation, and the error says so', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account('free');
  await Promise.all(Array.from({ length: 20 }, (_, no) => owner('POST', '/v1/monitors', { name: `m${no}` })));
  const { status, text } = await api.anonymous('POST', PATH, requestOf('full', invitationOf(api, tenantId)));
  t.is(status, 400);
  t.regex(text, /the free plan of the account that was to watch allows at most 20 monitors/);
  t.false((await listCanaryAddresses(api.database)).some(({ name }) => name.includes('full')));
});

test('only the token of its own heartbeat removes an installation', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const joined = await api.anonymous('POST', PATH, requestOf('kept', invitationOf(api, tenantId)));
  const mallory = await api.account();
  const name = 'Spotcheck at https://kept.example';
  const { json } = await mallory.owner('POST', '/v1/monitors', { name, type: 'heartbeat' });
  const foreign = (await mallory.owner('GET', `/v1/monitors/${json['id']}`)).json;
  const token = JSON.parse(JSON.stringify(foreign)).check_spec.heartbeat.token;
  for (const wrong of [token, 'x', null, joined.json['monitor_id']])
    t.is((await api.anonymous('DELETE', PATH, { peer_url: 'https://kept.example', token: wrong })).status, 404);
  t.is((await api.anonymous('DELETE', PATH, { token })).status, 404);
  t.true((await listCanaryAddresses(api.database)).some(({ name: each }) => each === 'https://kept.example'));
});

test.serial('an eleventh address is refused, and no heartbeat is created', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  t.teardown(async () => void (await api.database.pool.query('DELETE FROM channels')));
  for (let number = 0; number < MAX_ADDRESSES; number += 1) {
    const address = { origin: 'command', name: String(number), url: `https://a.example/${number}` } as const;
    await storeCanaryAddress(api.database, address, { newId: api.makeId, nowMs: Date.now() });
  }
  const { status, text } = await api.anonymous('POST', PATH, requestOf('late', invitationOf(api, tenantId)));
  t.is(status, 400);
  t.regex(text, /pings 10 addresses already/);
  t.deepEqual((await owner('GET', '/v1/monitors')).json, { monitors: [] });
});

test('an installation whose address cannot be stored leaves no heartbeat, and can join again', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  const { pool } = api.database;
  await pool.query(`ALTER TABLE channels ADD CONSTRAINT refused CHECK (name NOT LIKE '%refused.example') NOT VALID`);
  const request = requestOf('refused', invitationOf(api, tenantId));
  t.is((await api.anonymous('POST', PATH, request)).status, 500);
  t.deepEqual((await owner('GET', '/v1/monitors')).json, { monitors: [] });
  await pool.query('ALTER TABLE channels DROP CONSTRAINT refused');
  const joined = await api.anonymous('POST', PATH, request);
  t.is(joined.status, 201, joined.text);
});

test('fields that are not strings are refused', async (t) => {
  const { anonymous } = t.context.api;
  const odd = { toString: 1 };
  t.is((await anonymous('POST', PATH, { invitation: odd })).status, 400);
  t.is((await anonymous('DELETE', PATH, { peer_url: odd, token: odd })).status, 404);
});
