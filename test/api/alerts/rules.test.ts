import anyTest, { type TestFn } from 'ava';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addTransitions } from '../statistics/measured-monitor.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const now = () => Math.floor(Date.now() / 1000);

async function addChannel({ owner }: Account, body: object = {}): Promise<string> {
  const { status, text, json } = await owner('POST', '/v1/channels', body);
  if (status !== 201) throw new Error(text);
  return json.id;
}

test('rules are stored with a channel, shown in order with a sentence each, replaced and removed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const rules = [
    {
      events: ['monitor.down'],
      tags: ['env:prod'],
      quiet: { timezone: 'Europe/Berlin', hours: 'Mo-Su 22:00-07:00', mode: 'defer' },
    },
    { after_seconds: 900, repeat_seconds: 1800, repeat_max: 4, unless_acknowledged: true },
  ];
  const id = await addChannel(account, { rules });
  const read = await account.reader('GET', `/v1/channels/${id}`);
  t.deepEqual(read.json.rules, rules as typeof read.json.rules);
  t.deepEqual(Object.keys(read.json.rules?.[1] ?? {}), Object.keys(rules[1] ?? {}));
  t.deepEqual(read.json.rule_sentences, [
    'When down, of monitors tagged env:prod, held during Mo-Su 22:00-07:00 (Europe/Berlin).',
    'On every event, after 15 minutes, again every 30 minutes, up to 4 times, unless acknowledged.',
  ]);
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { rules: [{ tags: ['shop'] }] })).status, 200);
  t.deepEqual((await account.reader('GET', `/v1/channels/${id}`)).json.rules, [{ tags: ['shop'] }]);
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { name: 'On call' })).status, 200);
  t.deepEqual((await account.reader('GET', `/v1/channels/${id}`)).json.rules, [{ tags: ['shop'] }]);
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { rules: [] })).status, 200);
  t.false('rules' in (await account.reader('GET', `/v1/channels/${id}`)).json);
});

test('all errors in rules are reported at once with their fields, and nothing is changed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addChannel(account, { rules: [{ tags: ['shop'] }] });
  for (const [rules, error] of [
    [
      [{ repeat_max: 3 }, { unless_acknowledged: true }],
      /rules\[0\]\.repeat_max needs repeat_seconds.*rules\[1\]\.unless_acknowledged needs/s,
    ],
    [
      [{ quiet: { timezone: 'Mars', hours: 'Mo-Su 22:00-07:00', mode: 'drop' } }],
      /rules\[0\]\.quiet\.timezone must be a zone/,
    ],
    [[{ quiet: { timezone: 'UTC', hours: '24/7', mode: 'drop' } }], /rules\[0\]\.quiet\.hours must leave some time/],
    [[{}, { tags: ['a'] }], /rules\[1\] can never match/],
    [[{ events: [] }], /events/],
    [[{ events: ['monitor.gone'] }], /events/],
    [[{ repeat_seconds: 1 }], /repeat_seconds/],
    [[{ after_seconds: 1e9 }], /after_seconds/],
    [[{ tags: ['no tag'] }], /tags/],
    [[{ colour: 'red' }], /colour/],
    [Array.from({ length: 11 }, (_, index) => ({ tags: [`t${index}`] })), /rules/],
    ['always', /rules/],
    [null, /rules/],
  ] as const) {
    isError(t, await account.owner('PATCH', `/v1/channels/${id}`, { rules }), { status: 400, error });
    isError(t, await account.owner('POST', '/v1/channels', { rules }), { status: 400, error });
  }
  t.deepEqual((await account.reader('GET', `/v1/channels/${id}`)).json.rules, [{ tags: ['shop'] }]);
  t.is((await account.reader('PATCH', `/v1/channels/${id}`, { rules: [] })).status, 403);
});

test('a monitor is muted, shows until when, and is unmuted', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const { id } = (await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example' })).json;
  const until = now() + 3600;
  const muted = await account.owner('POST', `/v1/monitors/${id}/mute`, { until });
  t.deepEqual([muted.status, muted.json], [200, { id, muted_until: until }]);
  t.is((await account.reader('GET', `/v1/monitors/${id}`)).json.muted_until, until);
  t.is((await account.reader('GET', '/v1/monitors')).json.monitors[0]?.muted_until, until);
  t.is((await account.reader('GET', '/v1/overview')).json.monitors[0]?.muted_until, until);
  for (const wrong of [now() - 1, 0, now() + 31 * 86_400])
    isError(t, await account.owner('POST', `/v1/monitors/${id}/mute`, { until: wrong }), {
      status: 400,
      error: /until must be Unix seconds in the next 30 days/,
    });
  isError(t, await account.owner('POST', `/v1/monitors/${id}/mute`, {}), { status: 400, error: /until/ });
  isError(t, await account.owner('POST', `/v1/monitors/${id}/mute`, { until: 'noon' }), {
    status: 400,
    error: /until/,
  });
  t.is((await account.reader('POST', `/v1/monitors/${id}/mute`, { until })).status, 403);
  t.is((await account.reader('DELETE', `/v1/monitors/${id}/mute`)).status, 403);
  t.is((await other.owner('POST', `/v1/monitors/${id}/mute`, { until })).status, 404);
  t.is((await other.owner('DELETE', `/v1/monitors/${id}/mute`)).status, 404);
  const ended = await account.owner('DELETE', `/v1/monitors/${id}/mute`);
  t.deepEqual([ended.status, ended.json], [200, { id, muted_until: null }]);
  t.false('muted_until' in (await account.reader('GET', `/v1/monitors/${id}`)).json);
  t.is((await account.owner('DELETE', `/v1/monitors/${id}/mute`)).status, 200, 'unmuting twice changes nothing');
});

test('an open incident can be snoozed, a resolved one cannot', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const monitor = (await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example' })).json;
  const id = api.makeId('inc');
  await api.database.pool.query(
    `INSERT INTO incidents
       (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at, detected_at)
     VALUES ($1, $2, $3, 'Shop', 'down', 'No answer', '{}', $4, $4)`,
    [id, account.tenantId, monitor.id, Date.now() - 60_000],
  );
  const until = now() + 600;
  const snoozed = await account.owner('POST', `/v1/incidents/${id}/snooze`, { until });
  t.is(snoozed.status, 200, snoozed.text);
  t.is(snoozed.json.snoozed_until, until);
  t.is((await account.reader('GET', `/v1/incidents/${id}`)).json.snoozed_until, until);
  isError(t, await account.owner('POST', `/v1/incidents/${id}/snooze`, { until: now() + 8 * 86_400 }), {
    status: 400,
    error: /until must be Unix seconds in the next 7 days/,
  });
  t.is((await account.reader('POST', `/v1/incidents/${id}/snooze`, { until })).status, 403);
  t.is((await other.owner('POST', `/v1/incidents/${id}/snooze`, { until })).status, 404);
  t.is((await other.owner('DELETE', `/v1/incidents/${id}/snooze`)).status, 404);
  t.false('snoozed_until' in (await account.owner('DELETE', `/v1/incidents/${id}/snooze`)).json);
  await api.database.pool.query(`UPDATE incidents SET resolved_at = $2, resolution = 'recovered' WHERE id = $1`, [
    id,
    Date.now(),
  ]);
  isError(t, await account.owner('POST', `/v1/incidents/${id}/snooze`, { until }), { status: 409, error: /resolved/ });
});

test('stored and unstored rules are previewed on past alerts, and nothing is changed', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const id = await addChannel(account);
  const path = `/v1/channels/${id}/rules/preview` as const;
  const { id: monitorId } = (
    await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example' })
  ).json;
  const startMs = Date.now() - 3_600_000;
  await addTransitions(api, { tenantId: account.tenantId, monitorId }, [
    [startMs - 1000, 'up'],
    [startMs, 'down'],
    [startMs + 600_000, 'up'],
  ]);
  const plain = await account.owner('POST', path, {});
  t.is(plain.status, 200, plain.text);
  t.like(plain.json, { sent: 2, not_sent: 0 });
  t.deepEqual(
    plain.json.alerts.map(({ event, monitor_name: name, outcome }) => [event, name, outcome]),
    [
      ['monitor.up', 'Shop', 'sent'],
      ['monitor.down', 'Shop', 'sent'],
    ],
  );
  const delayed = await account.owner('POST', path, { rules: [{ after_seconds: 900 }] });
  t.like(delayed.json, { sent: 0, not_sent: 1 });
  t.false('rules' in (await account.reader('GET', `/v1/channels/${id}`)).json);
  isError(t, await account.owner('POST', path, { rules: [{ repeat_max: 3 }] }), { status: 400, error: /rules\[0\]/ });
  t.is((await account.reader('POST', path, {})).status, 403);
  t.is((await other.owner('POST', path, {})).status, 404);
});

test('a chat can group alerts and summarize flapping; a webhook without a format can only group', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addChannel(account, { type: 'telegram', group_seconds: 10 });
  t.is((await account.reader('GET', `/v1/channels/${id}`)).json.group_seconds, 10);
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { name: 'On call', group_seconds: 30 })).status, 200);
  t.is((await account.reader('GET', `/v1/channels/${id}`)).json.group_seconds, 30);
  for (const seconds of [301, -1, 1.5, '10', null])
    isError(t, await account.owner('PATCH', `/v1/channels/${id}`, { group_seconds: seconds }), {
      status: 400,
      error: /group_seconds/,
    });
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { group_seconds: 0 })).status, 200);
  t.false('group_seconds' in (await account.reader('GET', `/v1/channels/${id}`)).json);
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { summarize_flapping: true })).status, 200);
  t.true((await account.reader('GET', `/v1/channels/${id}`)).json.summarize_flapping);
  const webhook = { type: 'webhook', url: 'https://hooks.customer.example/' };
  isError(t, await account.owner('POST', '/v1/channels', { ...webhook, preset: 'teams', group_seconds: 10 }), {
    status: 400,
    error: /^group_seconds must be 0 for a webhook with a preset or template, got 10/,
  });
  isError(t, await account.owner('POST', '/v1/channels', { ...webhook, summarize_flapping: true }), {
    status: 400,
    error: /^summarize_flapping must be false for a webhook/,
  });
  const grouping = await addChannel(account, { ...webhook, group_seconds: 10 });
  isError(t, await account.owner('PATCH', `/v1/channels/${grouping}/webhook`, { preset: 'teams' }), {
    status: 400,
    error: /^preset and template must be left out of a webhook with group_seconds/,
  });
});
