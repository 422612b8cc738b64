import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { insertBulkChange, patchContext } from '../../../models/monitors/bulk-changes.ts';
import { createMonitor } from '../../../models/monitors/monitor-changes.ts';
import { inTransaction } from '../../../models/sql.ts';
import { openLiveStream } from '../../helpers/live-stream.ts';
import { until } from '../../helpers/until.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';
import { beginLongPeriod } from '../rate-limit.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const BULK = '/v1/monitors/bulk';

/** Adds monitors with sortable names; the one named `odd` is a heartbeat. */
async function addMonitors({ database, makeId }: ApiServer, { tenantId }: Account, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => makeId('mon'));
  for (const [index, id] of ids.entries())
    await createMonitor(
      database,
      {
        id,
        tenantId,
        settings: {
          name: `Shop ${index}`,
          type: index === 7 ? 'heartbeat' : 'http',
          target: index === 7 ? '' : 'https://shop.example/',
          intervalSeconds: 60,
          timeoutMs: 5000,
          method: 'GET',
          expectedStatus: '2xx',
          bodyMatch: null,
          followRedirects: true,
          downAfterFailures: 2,
          upAfterSuccesses: 1,
          downMinSources: 1,
          heartbeatGraceSeconds: 60,
          slaTarget: null,
          sla: null,
          reopenSeconds: 0,
          monthlyDrill: false,
          tags: [],
          checkSpec: index === 7 ? { heartbeat: { token: `token-of-${id}` } } : {},
        },
        secrets: {},
        agentIds: [],
        nowMs: Date.now(),
        author: null,
      },
      null,
    );
  return ids;
}

async function jobOf({ reader }: Account, id: string | null) {
  return (await reader('GET', `${BULK}/${id}`)).json;
}

async function isDone(t: ExecutionContext, account: Account, id: string | null): Promise<void> {
  t.true(await until(async () => (await jobOf(account, id)).status === 'done'));
}

test('a change of more than 100 monitors runs as a job with progress, results and events', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const ids = await addMonitors(api, account, 130);
  const stream = await openLiveStream(t, api.url, { Authorization: `Bearer ${account.readerToken}` });
  const { status, json, headers } = await account.owner('POST', BULK, {
    select: { all: true },
    action: 'patch',
    patch: { interval_seconds: 120, warn_days: 20 },
  });
  t.is(status, 202);
  t.like(json, { status: 'queued', total: 130, done: 0, results: [], finished_at: null, dry_run: false });
  t.regex(String(json.id), /^blk_/);
  t.is(headers.get('location'), `${api.url}/v1/monitors/bulk/${json.id}`);
  await isDone(t, account, json.id);
  const done = await jobOf(account, json.id);
  t.like(done, { id: json.id, total: 130, done: 130, succeeded: 129, failed: 1 });
  t.deepEqual(
    done.results.map((result) => result.monitor_id),
    ids,
  );
  await stream.next('bulk', { id: json.id ?? '', status: 'done', total: 130, done: 130, succeeded: 129, failed: 1 });
  const failed = (await account.reader('GET', `${BULK}/${json.id}?failed=true`)).json.results;
  t.deepEqual(
    failed.map(({ name, status: code }) => [name, code]),
    [['Shop 7', 400]],
  );
  const pages: string[] = [];
  for (let path: string | undefined = `${BULK}/${json.id}?limit=50`; path !== undefined;) {
    const page: Awaited<ReturnType<typeof account.reader<'GET', '/v1/monitors/bulk/{bulk_id}'>>> = await account.reader(
      'GET',
      path as '/v1/monitors/bulk/{bulk_id}',
    );
    pages.push(...page.json.results.map((result) => result.monitor_id));
    path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1]?.replace(api.url, '');
  }
  t.deepEqual(pages, ids);
  t.is((await account.reader('GET', `${BULK}/${json.id}?limit=501`)).status, 400);
  isError(t, await stranger.reader('GET', `${BULK}/${json.id}`), {
    status: 404,
    error: `bulk change ${json.id} does not exist`,
  });
  const { rows } = await api.database.pool.query('SELECT sealed_patch FROM bulk_changes WHERE id = $1', [json.id]);
  t.deepEqual(rows, [{ sealed_patch: null }]);
});

test('a request repeated with its idempotency key returns the same job', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(api, account, 101);
  const key = { 'Idempotency-Key': randomUUID() };
  const body = { select: { all: true }, action: 'tag', patch: { tags: ['one'] } };
  const first = await account.owner('POST', BULK, body, key);
  const again = await account.owner('POST', BULK, body, key);
  t.deepEqual([first.status, again.status], [202, 202]);
  t.is(again.json.id, first.json.id);
  await isDone(t, account, first.json.id);
  t.like((await account.owner('POST', BULK, body, key)).json, { id: first.json.id, status: 'done', succeeded: 101 });
});

test('another process finishes the job of a killed one, and no monitor is changed twice', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const ids = await addMonitors(api, account, 110);
  const [tokenId] = (
    await api.database.pool.query<{ id: string }>(
      `SELECT id FROM api_tokens WHERE tenant_id = $1 AND 'write' = ANY(scopes)`,
      [account.tenantId],
    )
  ).rows.map((token) => token.id);
  // The change is as a killed process left it: claimed, the first monitor paused, recorded, and since resumed by its
  // owner.
  const id = api.makeId('blk');
  await api.database.pool.query(
    `WITH change AS (
       INSERT INTO bulk_changes (id, tenant_id, action, sealed_patch, actor_kind, actor_id, actor_name, address, status,
         total, created_at, served_at, claimed_until)
       VALUES ($1, $2, 'pause', $3, 'token', $4, 'test', '192.0.2.7', 'running', 110, $5, $5, $5::bigint + 2000)
       RETURNING no
     )
     INSERT INTO bulk_results (change_no, position, monitor_id, name, status)
     SELECT no, position, id, 'Shop', CASE WHEN position = 1 THEN 200 END
     FROM change, unnest($6::text[]) WITH ORDINALITY AS m (id, position)`,
    [id, account.tenantId, api.database.secrets.seal('{}', patchContext(id)), tokenId, Date.now(), ids],
  );
  await isDone(t, account, id);
  const monitors = (await account.reader('GET', '/v1/monitors')).json.monitors;
  t.deepEqual(
    monitors.filter(({ enabled }) => enabled === 1).map((monitor) => monitor.id),
    [ids[0]],
  );
  t.like(await jobOf(account, id), { total: 110, succeeded: 110, failed: 0 });
  const { rows } = await api.database.pool.query(
    `SELECT address, count(*)::int AS entries, count(DISTINCT object_id)::int AS monitors FROM audit_log
     WHERE tenant_id = $1 AND action = 'monitor.paused' GROUP BY address`,
    [account.tenantId],
  );
  t.deepEqual(rows, [{ address: '192.0.2.7', entries: 109, monitors: 109 }]);
});

test('a job stops if its token is revoked or its member demoted, and reports the remaining monitors', async (t) => {
  const { api } = t.context;
  for (const kind of ['token', 'user'] as const) {
    const account = await api.account();
    const person = await addPerson(api, account.tenantId, { role: 'viewer', mark: `demoted ${kind}` });
    const ids = await addMonitors(api, account, 101);
    const { rows } = await api.database.pool.query<{ id: string }>(
      `UPDATE api_tokens SET revoked_at = 1 WHERE tenant_id = $1 AND 'write' = ANY(scopes) RETURNING id`,
      [account.tenantId],
    );
    const id = api.makeId('blk');
    await insertBulkChange(api.database, {
      id,
      tenantId: account.tenantId,
      key: null,
      order: { action: 'delete' },
      actor: { kind, id: (kind === 'token' ? rows[0]?.id : person.user.id) ?? '', name: 'test' },
      address: null,
      monitors: ids.map((monitorId) => ({ monitorId, name: 'Shop' })),
      nowMs: Date.now(),
    });
    const other = await api.account();
    await addMonitors(api, other, 101);
    await other.owner('POST', BULK, { select: { all: true }, action: 'resume' });
    await isDone(t, account, id);
    const job = await jobOf(account, id);
    t.like(job, { total: 101, succeeded: 0, failed: 101 });
    t.like(job.results[0], { status: 403, error: { code: 'forbidden' } });
    t.regex(String(job.results[0]?.error?.message), kind === 'token' ? /^the API token/ : /^the member/);
    t.is((await account.reader('GET', '/v1/monitors')).json.monitors.length, 101);
  }
});

test('an account has at most three jobs in progress, and keeps the last twenty', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await beginLongPeriod(api, 'bulk', account.tenantId);
  await addMonitors(api, account, 101);
  const body = { select: { all: true }, action: 'tag', patch: { tags: ['x'] } };
  const { rows } = await api.database.pool.query<{ id: string }>('SELECT id FROM api_tokens WHERE tenant_id = $1', [
    account.tenantId,
  ]);
  const insert = async (status: string) => {
    const id = api.makeId('blk');
    await api.database.pool.query(
      `INSERT INTO bulk_changes (id, tenant_id, action, actor_kind, actor_id, actor_name, status, total, created_at,
         served_at, claimed_until) VALUES ($1, $2, 'tag', 'token', $3, 'test', $4, 101, 1, 1, $5)`,
      [id, account.tenantId, rows[0]?.id, status, Date.now() + 3_600_000],
    );
    return id;
  };
  const held = [await insert('running'), await insert('running'), await insert('queued')];
  await inTransaction(api.database, async (run) => {
    // No process continues jobs that are locked.
    await run('SELECT 1 FROM bulk_changes WHERE id = ANY($1) FOR UPDATE', [held]);
    isError(t, await account.owner('POST', BULK, body), {
      status: 429,
      error: /^3 bulk changes of this account are under way/,
    });
    t.is((await account.owner('POST', BULK, { ...body, select: { q: 'Shop 1' } })).status, 200);
    await run(`UPDATE bulk_changes SET status = 'done' WHERE id = ANY($1)`, [held]);
  });
  for (let count = 0; count < 22; count += 1) await insert('done');
  const { json } = await account.owner('POST', BULK, body);
  await isDone(t, account, json.id);
  const kept = await api.database.pool.query(`SELECT 1 FROM bulk_changes WHERE tenant_id = $1 AND status = 'done'`, [
    account.tenantId,
  ]);
  t.is(kept.rows.length, 21);
  await api.database.pool.query(`UPDATE rate_limits SET points = 14990 WHERE key = $1`, [
    `spotcheck-bulk:${account.tenantId}`,
  ]);
  isError(t, await account.owner('POST', BULK, body), { status: 429, error: /^at most 15000 monitors selected/ });
});
