import { once } from 'node:events';
import { connect } from 'node:net';
import anyTest, { type TestFn } from 'ava';
import { openLiveStream, type LiveStream } from '../../helpers/live-stream.ts';
import { until } from '../../helpers/until.ts';
import { agentCaller } from '../agents/agent-caller.ts';
import { withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/**
 * Time limit for an event, in milliseconds. A busy machine may delay one for longer than the service aims for, and
 * tests are no benchmark.
 */
const SOON_MS = 5000;

const bearing = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });

async function makeMonitor({ owner }: Account, name = 'Shop'): Promise<string> {
  const made = await owner('POST', '/v1/monitors', { name, target: 'https://shop.example/' });
  return made.json['id'];
}

/** Opens streams as each kind of viewer of an account, on two processes: a read-only token, and a user. */
async function watchers(
  t: Parameters<typeof openLiveStream>[0],
  api: ApiServer,
  { tenantId, readerToken }: Account,
): Promise<LiveStream[]> {
  const person = await addPerson(api, tenantId, { role: 'viewer' });
  const other = await api.another();
  return await Promise.all(
    [api.url, other].flatMap((url) => [
      openLiveStream(t, url, bearing(readerToken)),
      openLiveStream(t, url, { Cookie: person.headers['Cookie'] ?? '' }),
    ]),
  );
}

test.serial(
  'a change in an account is sent to all its streams on every process, and to no other account',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const stranger = await api.account();
    const streams = await watchers(t, api, account);
    const foreign = await openLiveStream(t, api.url, bearing(stranger.readerToken));
    const took: number[] = [];
    const shows = async (event: string, data: Record<string, unknown>, change: () => Promise<unknown>) => {
      const startedAtMs = performance.now();
      await change();
      const changedAtMs = performance.now();
      const events = await Promise.all(streams.map((stream) => stream.next(event, data)));
      for (const { atMs } of events) {
        took.push(atMs - changedAtMs);
        t.true(atMs > startedAtMs);
      }
    };
    const lastOf = (kind: string) => streams[0]?.events.findLast(({ event }) => event === kind)?.data;
    const { owner } = account;
    let id = '';
    await shows('monitor', { name: 'Shop', status: 'pending' }, async () => (id = await makeMonitor(account)));
    t.deepEqual(lastOf('monitor'), (await owner('GET', '/v1/overview')).json['monitors'][0]);
    await shows('monitor', { id, name: 'Shop 2' }, () => owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop 2' }));
    await shows('monitor', { id, status: 'paused' }, () => owner('POST', `/v1/monitors/${id}/pause`));
    await shows('channel', { name: 'On call', all_monitors: true }, () =>
      owner('POST', '/v1/channels', { type: 'webhook', name: 'On call', url: 'https://hook.example/' }),
    );
    const channelId = String(lastOf('channel')?.['id']);
    await shows('channel', { id: channelId, all_monitors: false }, () =>
      owner('PATCH', `/v1/channels/${channelId}`, { all_monitors: false }),
    );
    const routed = () =>
      streams.every(({ events }) =>
        events.some(
          ({ event, data }) => event === 'channel' && JSON.stringify(data['monitor_ids']) === JSON.stringify([id]),
        ),
      );
    await owner('PATCH', `/v1/channels/${channelId}`, { monitor_ids: [id] });
    t.true(await until(routed));
    await shows('channel', { id: channelId, deleted: true }, () => owner('DELETE', `/v1/channels/${channelId}`));
    await shows('agent', { name: 'home' }, () => agentCaller(api, account, 'home'));
    const agentId = String(lastOf('agent')?.['id']);
    await shows('agent', { id: agentId, deleted: true }, () => owner('DELETE', `/v1/agents/${agentId}`));
    const incident = api.makeId('inc');
    const open = () =>
      api.database.pool.query(
        `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
         detected_at) VALUES ($1, $2, $3, 'Shop', 'down', 'x', '{}', $4, $4)`,
        [incident, account.tenantId, id, Date.now()],
      );
    await shows('incident', { id: incident, status: 'open', acknowledged_by: null }, open);
    await shows('incident', { id: incident, acknowledged_by: 'test' }, () =>
      owner('POST', `/v1/incidents/${incident}/acknowledge`),
    );
    const countIncidents = () => streams.map(({ events }) => events.filter(({ event }) => event === 'incident').length);
    const before = countIncidents();
    await owner('POST', `/v1/incidents/${incident}/notes`, { text: 'Looking at it' });
    t.true(await until(() => countIncidents().every((count, index) => count > (before[index] ?? 0))));
    await shows('monitor', { id, deleted: true }, () => owner('DELETE', `/v1/monitors/${id}`));

    t.true((took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? Infinity) < SOON_MS, String(took));
    t.deepEqual(
      foreign.events.map(({ event }) => event),
      ['ready'],
    );
  },
);

test.serial(
  'updates that change nothing visible send no notification, and several in one transaction a single one',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const id = await makeMonitor(account);
    const channel = (await account.owner('POST', '/v1/channels', { type: 'webhook', url: 'https://hook.example/' }))
      .json['id'];
    const agent = await agentCaller(api, account, 'home');
    const listener = await api.database.pool.connect();
    const payloads: string[] = [];
    listener.on('notification', ({ payload = '' }) => payloads.push(payload));
    t.teardown(() => listener.release(true));
    await listener.query('LISTEN spotcheck_changes');
    const query = (sql: string, values: unknown[]) => api.database.pool.query(sql, values);
    await query(
      `UPDATE channels SET failures = failures + 1, last_error = 'HTTP 500', last_error_at = 1 WHERE id = $1`,
      [channel],
    );
    await query(
      `UPDATE channels SET failures = failures + 1, last_error = 'HTTP 500', last_error_at = 2 WHERE id = $1`,
      [channel],
    );
    await query('UPDATE agents SET last_seen_at = 1 WHERE id = $1', [agent.id]);
    await query('UPDATE monitors SET state = state WHERE id = $1', [id]);
    await query(`UPDATE monitor_sources SET state = '{}' WHERE monitor_no = (SELECT no FROM monitors WHERE id = $1)`, [
      id,
    ]);
    await api.database.pool.query(
      `BEGIN; UPDATE monitors SET name = 'a' WHERE id = '${id}'; UPDATE monitors SET name = 'b' WHERE id = ` +
        `'${id}'; COMMIT`,
    );
    await until(() => payloads.some((payload) => payload.includes(id)));
    t.deepEqual(payloads, [`${account.tenantId} channel ${channel}`, `${account.tenantId} monitor ${id}`]);
  },
);

test.serial('5,000 simultaneous changes are sent as a reset instead of single events', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await api.database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
     SELECT 'mon_' || $1 || n, $1, 'Shop', 'http', 'https://shop.example/', 60, 10000, true, 2, 1, 1, 0, 0, 0
       FROM generate_series(1, 5000) n`,
    [account.tenantId],
  );
  const stream = await openLiveStream(t, api.url, bearing(account.readerToken));
  await api.database.pool.query(`UPDATE monitors SET state = 'down' WHERE tenant_id = $1`, [account.tenantId]);
  const reset = await stream.next('reset');
  t.true(Number(reset.data['wait_ms']) >= 0);
  // On a busy machine the 5,000 changes arrive in several parts, each a `reset`. A change that arrives along with one
  // gets no separate event.
  let renamed = 0;
  await until(
    async () => {
      renamed += 1;
      await api.database.pool.query('UPDATE monitors SET name = $2 WHERE id = $1', [
        `mon_${account.tenantId}17`,
        `Last ${renamed}`,
      ]);
      return stream.events.some(({ event, data }) => event === 'monitor' && data['status'] === 'down');
    },
    { intervalMs: 500 },
  );
  const countIncidents = stream.events.map(({ event }) => event);
  t.deepEqual([...new Set(countIncidents)], ['ready', 'reset', 'monitor']);
  t.true(countIncidents.length < 50, countIncidents.join(' '));
});

test.serial(
  'a reconnecting stream gets a reset, and so does one whose server lost its database connection',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const [back, stayed] = [
      await openLiveStream(t, api.url, { ...bearing(account.readerToken), 'Last-Event-ID': '1' }),
      await openLiveStream(t, api.url, bearing(account.readerToken)),
    ];
    t.deepEqual(
      [back, stayed].map(({ events }) => events[0]?.event),
      ['reset', 'ready'],
    );
    await api.database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
       AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`,
    );
    await stayed.next('reset');
    await makeMonitor(account, 'After');
    await stayed.next('monitor', { name: 'After' });
    t.true(api.logLines.some(({ msg }) => msg === 'live.not_listening'));
  },
);

test.serial(
  'live responses pass proxies unbuffered, HEAD ends immediately, and closed streams are logged',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const stream = await openLiveStream(t, api.url, bearing(account.readerToken));
    t.like(stream.headers, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    t.regex(stream.asides.join('\n'), /^retry: [12]\d{3}$/m);
    const head = await fetch(`${api.url}/v1/live`, { method: 'HEAD', headers: bearing(account.readerToken) });
    t.is(head.status, 200);
    stream.close();
    const line = await until(() =>
      api.logLines.find(
        ({ msg, outcome, tenant_id: tenantId }) =>
          msg === 'request.completed' && outcome === 'streamed' && tenantId === account.tenantId,
      ),
    );
    t.like(line, { route: '/v1/live', status: 200 });
  },
);

test.serial('a caller can have at most 20 streams until one is closed, independently of other callers', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => openLiveStream(t, api.url, bearing(account.readerToken))),
  );
  const refused = await account.reader('GET', '/v1/live');
  t.is(refused.status, 429);
  t.regex(String(refused.json['error']), /at most 20 streams/);
  t.truthy(refused.headers.get('retry-after'));
  await openLiveStream(t, api.url, bearing(account.ownerToken));
  streams[0]?.close();
  await until(async () => {
    const again = await openLiveStream(t, api.url, bearing(account.readerToken)).catch(() => null);
    return again !== null;
  });
});

test.serial('a stopping process ends its streams, and new streams end as soon as they open', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const stopping = new AbortController();
  const url = await api.another({ stopping: stopping.signal });
  const stream = await openLiveStream(t, url, bearing(account.readerToken));
  stopping.abort();
  t.true(await until(stream.isEnded));
  const late = await fetch(`${url}/v1/live`, { headers: bearing(account.readerToken) });
  t.is(late.status, 200);
  t.regex(await late.text(), /^retry: \d+\n\n$/);
});

test.serial('clients that disconnect before their stream opens take no slot', async (t) => {
  const { api } = t.context;
  const { readerToken } = await api.account();
  const { hostname, port } = new URL(api.url);
  for (let no = 0; no < 25; no += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.end(`GET /v1/live HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${readerToken}\r\n\r\n`);
    socket.destroySoon();
  }
  const countOpen = async () =>
    /^spotcheck_live_streams (\d+)/m.exec((await api.anonymous('GET', '/metrics')).text)?.[1];
  const stream = await openLiveStream(t, api.url, bearing(readerToken));
  await stream.next('ready', {});
  await until(async () => (await countOpen()) === '1');
  t.is(await countOpen(), '1');
});
