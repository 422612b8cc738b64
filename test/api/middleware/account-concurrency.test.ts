import { connect } from 'node:net';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { openTestDatabase } from '../../helpers/database.ts';
import { until } from '../../helpers/until.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
// The pool has more connections than an account may have concurrent changes.
withApiServer(test, { poolSize: 8 });

/** Locks a monitor's row from outside of the API until released. */
async function lockRow(t: ExecutionContext, { databaseUrl }: ApiServer, id: string) {
  const outside = openTestDatabase(databaseUrl);
  const holder = await outside.pool.connect();
  const state = { isHeld: true };
  t.teardown(async () => {
    if (state.isHeld) holder.release(true);
    await closeDatabase(outside);
  });
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM monitors WHERE id = $1 FOR UPDATE', [id]);
  return {
    outside,
    async letGo() {
      await holder.query('COMMIT');
      state.isHeld = false;
      holder.release();
    },
  };
}

async function countWaiting({ pool }: Database): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type ' +
      "= 'Lock'",
  );
  return rows[0]?.count ?? 0;
}

const makeMonitor = async ({ owner }: Account) =>
  (await owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example/' })).json['id'];

test.serial(
  'changes waiting for one row do not block other accounts, and closed connections take no slot',
  async (t) => {
    const { api } = t.context;
    const [busy, other] = [await api.account('pro'), await api.account('pro')];
    const id = await makeMonitor(busy);
    const { outside, letGo } = await lockRow(t, api, id);
    const change = (name: string) => busy.owner('PATCH', `/v1/monitors/${id}`, { name });
    const first = Array.from({ length: 4 }, (_, no) => change(`Shop ${no}`));
    await until(async () => (await countWaiting(outside)) >= 4);
    const impatient = new AbortController();
    const sendDelete = () =>
      fetch(`${api.url}/v1/monitors/${id}`, {
        method: 'DELETE',
        headers: { Authorization: `Bearer ${busy.ownerToken}` },
        signal: impatient.signal,
      });
    const hungUp = Array.from({ length: 10 }, () =>
      sendDelete().then(
        () => t.fail(),
        () => undefined,
      ),
    );
    const more = Array.from({ length: 60 }, (_, no) => change(`Shop ${no + 4}`));
    t.deepEqual(
      [
        (await other.owner('POST', '/v1/monitors', { name: 'Blog', target: 'https://blog.example/' })).status,
        (await other.owner('GET', '/v1/monitors')).status,
      ],
      [201, 200],
    );
    t.is(await countWaiting(outside), 4);
    impatient.abort();
    await Promise.all(hungUp);
    await letGo();
    t.deepEqual([...new Set((await Promise.all([...first, ...more])).map(({ status }) => status))], [200]);
  },
);

test.serial('large patterns are rate limited per account, and small ones are always accepted', async (t) => {
  const account = await t.context.api.account('pro');
  const id = await makeMonitor(account);
  const send = async (value: string, count: number) => {
    const assertions = Array.from({ length: count }, () => ({ source: 'text_body', op: 'matches', value }));
    const { status } = await account.owner('PATCH', `/v1/monitors/${id}`, { check_spec: { assertions } });
    return status;
  };
  const statuses: number[] = [];
  const pattern = `${'('.repeat(95)}a${')'.repeat(95)}`.repeat(2);
  for (let tried = 0; tried < 12; tried += 1) statuses.push(await send(pattern, 50));
  t.deepEqual([...new Set(statuses.slice(0, 10))], [200]);
  t.is(statuses[11], 429);
  t.is(await send('order [0-9]{3}', 3), 200);
});

test.serial('an account can have at most 200 waiting requests', async (t) => {
  const { api } = t.context;
  const account = await api.account('pro');
  const id = await makeMonitor(account);
  const { outside, letGo } = await lockRow(t, api, id);
  const changes = Array.from({ length: 104 }, () => account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop' }));
  // Until the changes hold all slots, reads would be served instead of waiting.
  await until(async () => (await countWaiting(outside)) >= 4);
  const reads = Array.from({ length: 110 }, () => account.reader('GET', '/v1/monitors'));
  const refusal = new Promise((resolve) => {
    for (const answer of [...changes, ...reads]) void answer.then(({ status }) => status === 429 && resolve(null));
  });
  await refusal;
  await letGo();
  const refused = (await Promise.all([...changes, ...reads])).filter(({ status }) => status !== 200);
  t.true(refused.length > 0 && refused.length <= 10, `${refused.length} were refused`);
  for (const answer of refused)
    isError(t, answer, { status: 429, error: '200 requests of this account are already waiting: send fewer at once' });
});

test.serial(
  'an account that does not read its responses gets a 429, and other accounts are not affected',
  async (t) => {
    const { api } = t.context;
    const [account, other] = [await api.account('pro'), await api.account('pro')];
    const ids = [await makeMonitor(account), await makeMonitor(account)];
    // Larger than any real response, so that three are enough.
    await api.database.pool.query("UPDATE monitors SET name = repeat('x', 10000000) WHERE id = ANY($1)", [ids]);
    const { hostname, port } = new URL(api.url);
    const statuses = async ({ reader }: Account) => (await reader('GET', '/v1/agents')).status;
    const unread = Array.from({ length: 3 }, () => connect(Number(port), hostname).pause());
    t.teardown(() => unread.forEach((socket) => socket.destroy()));
    for (const socket of unread)
      socket.write(
        `GET /v1/monitors HTTP/1.1\r\nHost: spotcheck\r\nAuthorization: Bearer ${account.readerToken}\r\n\r\n`,
      );
    await until(async () => (await statuses(account)) === 429);
    isError(t, await account.reader('GET', '/v1/agents'), {
      status: 429,
      error: 'this account has 33554432 bytes of unread responses: read them, or close their connections',
    });
    t.is(await statuses(other), 200);
    unread[0]?.resume();
    unread[1]?.destroy();
    await until(async () => (await statuses(account)) === 200);
  },
);
