import zlib from 'node:zlib';
import type { HttpObservation } from '../../../core/checks/http/observation.ts';
import { listVendorDocuments } from '../../../core/checks/vendor/document.ts';
import { findVendorPage } from '../../../core/checks/vendor/page.ts';
import { claimDomain, createVendorDocumentStore } from '../../../models/checks/lookups.ts';
import { readExcludedTimes } from '../../../models/maintenance/maintenance-times.ts';
import { OutOfBodyMemory, bodyBudget, holdingBodies } from '../../../net/body-budget.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { Judge } from '../../../probes/judging/judge.ts';
import { parseVendorDocument } from '../../../probes/vendors/parse-document.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { agentCaller } from '../../api/agents/agent-caller.ts';
import type { Account, ApiServer } from '../../api/api-server.ts';
import { httpTarget } from '../../helpers/check-target.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../../helpers/long-judging.ts';
import { until } from '../../helpers/until.ts';
import { made, numberOf, statusesOf, thenRefused, type Walker } from './walker.ts';

const monitors: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account('free');
  t.deepEqual(await statusesOf(21, () => owner('POST', '/v1/monitors', { name: 'x' })), thenRefused(20, 201, 400));
  const [{ id } = { id: '' }] = (await owner('GET', '/v1/monitors?limit=1')).json['monitors'];
  const big = {
    assertions: Array.from({ length: 40 }, () => ({ source: 'text_body', op: 'contains', value: 'x'.repeat(5000) })),
  };
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { check_spec: big })).status, 400);
  t.true(
    (await numberOf(api, 'SELECT max(length(check_spec::text)) FROM monitors WHERE tenant_id = $1', [tenantId])) <
      131_072,
  );
  const sources = (name: string) =>
    owner('POST', '/v1/monitors', {
      name,
      target: 'https://shop.example/',
      agent_sources: Array.from({ length: 65 }, () => 'agt_x'),
    });
  await owner('DELETE', `/v1/monitors/${id}`);
  t.is((await sources('too many')).status, 400);
  t.true(
    (await numberOf(
      api,
      'SELECT count(*) FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE m.tenant_id = $1',
      [tenantId],
    )) <=
      20 * 3,
  );
};

const dependencies: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const ids: string[] = [];
  for (let no = 0; no < 22; no += 1) ids.push(await made(owner('POST', '/v1/monitors', { name: `x${no}` })));
  const [child = '', ...parents] = ids;
  const depend = (id: string, on: readonly string[]) =>
    owner('PATCH', `/v1/monitors/${id}`, { depends_on: on.map((parent) => ({ id: parent, mode: 'hold' })) });
  t.is((await depend(child, parents)).status, 400);
  t.is((await depend(child, parents.slice(1))).status, 200);
  t.is((await depend(child, [])).status, 200);
  const chain = await statusesOf(10, (no) => depend(ids[no] ?? '', [ids[no + 1] ?? '']));
  t.deepEqual(chain, thenRefused(9, 200, 400));
  const count =
    'SELECT count(*) FROM monitor_dependencies d JOIN monitors m ON m.no = d.monitor_no WHERE m.tenant_id = $1';
  t.is(await numberOf(api, count, [tenantId]), 9);
  await api.database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
     SELECT 'mon_crowd' || n, $1, 'x', 'http', 60, 5000, true, 2, 1, 1, 0, 0, 0 FROM generate_series(1, 1200) n`,
    [tenantId],
  );
  await api.database.pool.query(
    `INSERT INTO monitor_dependencies SELECT a.no, b.no, 'hold' FROM monitors a JOIN monitors b
       ON b.tenant_id = a.tenant_id AND b.id LIKE 'mon_crowd%' AND substr(b.id, 10)::int > 1180
     WHERE a.tenant_id = $1 AND a.id LIKE 'mon_crowd%' AND substr(a.id, 10)::int <= 1000`,
    [tenantId],
  );
  t.true((await numberOf(api, count, [tenantId])) >= 20_000);
  t.regex((await depend(ids.at(-1) ?? '', [child])).text, /at most 20000 dependencies/);
};

const bulkChanges: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const select = (count: number, first = 0) => ({
    ids: Array.from({ length: count }, (_, index) => `mon_none${first + index}`),
  });
  const bulk = (body: object, key?: string) =>
    owner(
      'POST',
      '/v1/monitors/bulk',
      { action: 'pause', ...body },
      key === undefined ? {} : { 'Idempotency-Key': key },
    );
  t.is((await bulk({ select: select(5001) })).status, 400);
  t.deepEqual(
    await statusesOf(4, () => bulk({ select: select(5000), action: 'delete', dry_run: true })),
    thenRefused(3, 200, 429),
  );
  t.is(await numberOf(api, 'SELECT count(*) FROM bulk_changes WHERE tenant_id = $1', [tenantId]), 0);
  await api.database.pool.query(`DELETE FROM rate_limits WHERE key LIKE 'spotcheck-bulk:%'`);
  t.is((await bulk({ select: select(1) }, 'x'.repeat(256))).status, 400);
  for (let no = 0; no < 105; no += 1) t.is((await bulk({ select: select(1) }, `key-${no}`)).status, 200);
  t.true((await numberOf(api, 'SELECT count(*) FROM bulk_changes WHERE tenant_id = $1', [tenantId])) <= 101);
  const jobs = await Promise.all([0, 1, 2, 3, 4, 5].map((no) => bulk({ select: select(1500, no) })));
  t.true(jobs.every(({ status }) => status === 202 || status === 429));
  t.true(jobs.some(({ status }) => status === 429));
  t.true(
    (await numberOf(
      api,
      `SELECT count(*) FROM bulk_changes WHERE tenant_id = $1 AND total > 100 AND status <> 'done'`,
      [tenantId],
    )) <= 3,
  );
  await until(
    async () =>
      (await numberOf(api, `SELECT count(*) FROM bulk_changes WHERE tenant_id = $1 AND status <> 'done'`, [
        tenantId,
      ])) === 0,
  );
  t.true(
    (await numberOf(
      api,
      'SELECT max(length(r.error)) FROM bulk_results r JOIN bulk_changes b ON b.no = r.change_no ' +
        'WHERE b.tenant_id = $1',
      [tenantId],
    )) <= 500,
  );
};

/** Creates an http monitor, and returns it with a function that evaluates results of it. */
export async function watched(api: ApiServer, { owner }: Account) {
  const [agent] = (await owner('GET', '/v1/agents')).json['agents'];
  const id = await made(
    owner('POST', '/v1/monitors', {
      name: 'x',
      target: 'https://shop.example/',
      down_after_failures: 1,
      agent_sources: [agent?.id],
    }),
  );
  const { rows } = await api.database.pool.query<{ no: number; agent_no: number; version: number }>(
    'SELECT m.no, s.agent_no, m.checks_version AS version FROM monitors m JOIN monitor_sources s ON s.monitor_no ' +
      '= m.no WHERE m.id = $1 ORDER BY 2 LIMIT 1',
    [id],
  );
  const { no = 0, agent_no: agentNo = 0, version = 1 } = rows[0] ?? {};
  // Results from before the monitor was created do not count.
  const startMs = Date.now() + 1000;
  const evaluate = async (second: number, verdict: 'up' | 'down') => {
    const dueAtMs = startMs + second * 1000;
    const result = {
      monitorNo: no,
      agentNo,
      checksVersion: version,
      dueAtMs,
      finishedAtMs: dueAtMs,
      verdict,
      cause: verdict === 'up' ? null : 'timeout',
      reason: verdict === 'up' ? null : 'Timed out',
      latencyMs: 1,
      httpStatus: null,
      phases: null,
      answer: null,
    } as const;
    await createEvaluator({ database: api.database, now: () => dueAtMs + 100, newId: api.makeId, publicUrl: api.url })([
      result,
    ]);
  };
  return { id, no, startMs, evaluate };
}

const results: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const result = { monitorId: 'mon_x', startedAt: 1, verdict: 'up' };
  t.is((await agent.post('ingest', { results: Array.from({ length: 1001 }, () => result) })).status, 400);
  t.is((await agent.post('ingest', { results: [], padding: 'x'.repeat(1_048_576) })).status, 413);
  const { no, evaluate } = await watched(api, account);
  for (let turn = 0; turn < 5; turn += 1) await evaluate(1, 'up');
  t.is(await numberOf(api, 'SELECT count(*) FROM check_results WHERE monitor_no = $1', [no]), 1);
};

const changes: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, evaluate } = await watched(api, account);
  for (let second = 1; second <= 10; second += 1) await evaluate(second, 'down');
  for (let turn = 0; turn < 3; turn += 1) await account.owner('POST', `/v1/monitors/${id}/pause`);
  t.is(await numberOf(api, 'SELECT count(*) FROM transitions WHERE monitor_id = $1', [id]), 2);
  t.is(await numberOf(api, 'SELECT count(*) FROM incidents WHERE monitor_id = $1', [id]), 1);
  const crowded = await watched(api, account);
  await addSilentSources(api, { tenantId: account.tenantId, monitorNo: crowded.no, sources: 50 });
  await crowded.evaluate(1, 'down');
  const size = 'SELECT max(length(evidence::text)) FROM transitions WHERE monitor_id = $1';
  const frames = 50 * 200;
  t.true((await numberOf(api, size, [crowded.id])) < 16_384 + frames);
  // Only the oldest of 100,001 incidents was acknowledged: one page ends before it, and the next contains it.
  await api.database.pool.query(`ALTER TABLE incidents DISABLE TRIGGER USER;
    INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
      detected_at, resolved_at, resolution, acknowledged_at)
    SELECT 'inc_bounds' || n, '${account.tenantId}', '${id}', 'x', 'down', 'x', '{}', n, n, n, 'recovered',
      CASE WHEN n = 1 THEN 1 END FROM generate_series(1, 100000) n;
    ALTER TABLE incidents ENABLE TRIGGER USER`);
  const first = await account.owner('GET', '/v1/incidents?acknowledged=true&limit=1');
  t.deepEqual(first.json, { incidents: [] });
  const next = /<(.*)>/.exec(first.headers.get('link') ?? '')?.[1]?.slice(api.url.length) ?? '';
  const second = await account.owner('GET', next);
  t.like(second.json, { incidents: [{ id: 'inc_bounds1' }] });
  t.is(second.headers.get('link'), null);
  const open = await account.owner('GET', '/v1/incidents?status=open&acknowledged=true');
  t.deepEqual([open.json, open.headers.get('link')], [{ incidents: [] }, null]);
};

/** Adds private agents with long-expired down votes and the longest reasons, which are silent now. */
async function addSilentSources(
  api: ApiServer,
  { tenantId, monitorNo, sources }: { tenantId: string; monitorNo: number; sources: number },
): Promise<void> {
  const said = { atMs: 1, verdict: 'down', cause: 'timeout', reason: 'x'.repeat(500), httpStatus: null, latencyMs: 1 };
  const gauge = { tripped: true, decidedBy: [said, said, said, said, said], streak: [said, said, said, said] };
  const state = { checksVersion: 1, newestAtMs: 1, abstention: null, failing: gauge, impaired: gauge };
  await api.database.pool.query(
    `WITH crowd AS (
       INSERT INTO agents (id, tenant_id, kind, name, created_at)
       SELECT 'agt_crowd_' || n, $1, 'tenant', 'crowd', 0 FROM generate_series(1, $2) n RETURNING no
     )
     INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, state) SELECT $3, no, 60, $4 FROM crowd`,
    [tenantId, sources, monitorNo, JSON.stringify(state)],
  );
}

const notes: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, evaluate } = await watched(api, account);
  await evaluate(1, 'down');
  const [{ id: incident } = { id: '' }] = (await account.owner('GET', `/v1/monitors/${id}/incidents`)).json[
    'incidents'
  ];
  await api.database.pool.query(
    `INSERT INTO incident_notes (id, incident_id, author, text, created_at) SELECT 'note_' || $1 || n, $1, 'x', 'x', 0
     FROM generate_series(1, 499) n`,
    [incident],
  );
  const write = (text: string) => account.owner('POST', `/v1/incidents/${incident}/notes`, { text });
  t.is((await write('x'.repeat(4001))).status, 400);
  t.deepEqual(await statusesOf(2, (no) => write(`n${no}`)), [201, 409]);
};

const PAGE = findVendorPage('https://status.bounds.example');

const statusPages: Walker = async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const [document] = PAGE === null ? [] : listVendorDocuments(PAGE, []).flat();
  if (document === undefined) throw new Error('The page has no document');
  const components = Array.from({ length: 2000 }, (_, no) => ({
    id: `c${no}`,
    name: 'n'.repeat(200),
    status: 'operational',
  }));
  const parsed = parseVendorDocument(
    Buffer.from(JSON.stringify({ status: { indicator: 'none' }, components })),
    document,
    Date.now(),
  );
  if (!parsed.ok) throw new Error(parsed.message);
  const store = createVendorDocumentStore(api.database);
  for (let no = 0; no < 40; no += 1) {
    const [url, nowMs] = [`https://${tenantId}.example/${no}`, Date.now() + no];
    await store.claim(url, { nowMs, untilMs: nowMs + 10, requestedBeforeMs: nowMs, tenantId });
    await store.save({
      url,
      snapshot: parsed.value,
      etag: null,
      lastModified: null,
      fetchedAtMs: nowMs,
      requestedAtMs: nowMs,
      latencyMs: 1,
      failure: null,
      failures: 0,
      retryAtMs: null,
    });
  }
  t.is(await numberOf(api, 'SELECT count(*) FROM vendor_pages WHERE reader_tenant_id = $1', [tenantId]), 12);
  t.true(
    (await numberOf(api, 'SELECT sum(length(snapshot::text)) FROM vendor_pages WHERE reader_tenant_id = $1', [
      tenantId,
    ])) <=
      12 * 2 * 131_072,
  );
};

const checksRequested: Walker = async (t) => {
  const { owner } = await t.context.api.account();
  const ids: string[] = [];
  for (let no = 0; no < 21; no += 1)
    ids.push(await made(owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example/' })));
  const ask = (id: string | undefined) => owner('POST', `/v1/monitors/${id}/check`);
  t.deepEqual(await statusesOf(7, () => ask(ids[0])), thenRefused(6, 202, 429));
  for (const id of ids.slice(1, 20)) t.deepEqual(await statusesOf(6, () => ask(id)), thenRefused(5, 202, 202));
  t.is((await ask(ids[20])).status, 429);
};

const news: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const agentNos = 'SELECT count(*) FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no';
  const waiting = () => numberOf(api, `${agentNos} WHERE m.tenant_id = $1 AND s.look_at IS NOT NULL`, [tenantId]);
  const settle = () => api.database.pool.query('UPDATE monitor_sources SET look_at = NULL');
  const id = await made(
    owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example/', interval_seconds: 86_400 }),
  );
  const looked: boolean[] = [];
  for (let no = 0; no < 65; no += 1) {
    await settle();
    t.is((await owner('PATCH', `/v1/monitors/${id}`, { target: `https://shop${no}.example/` })).status, 200);
    looked.push((await waiting()) > 0);
  }
  t.is(looked.filter(Boolean).length, 59);
  t.deepEqual(looked.slice(59), [false, false, false, false, false, false]);
  t.is((await owner('POST', `/v1/monitors/${id}/check`)).status, 429);
  await owner('POST', `/v1/monitors/${id}/pause`);
  t.is((await owner('POST', `/v1/monitors/${id}/resume`)).status, 200);
  t.is(await waiting(), 0);
  await made(owner('POST', '/v1/monitors', { name: 'y', target: 'https://other.example/', interval_seconds: 86_400 }));
  t.is(await waiting(), 0);
};

const MIB = 1024 * 1024;

const probes: Walker = async (t) => {
  const startOfBrotli = zlib.brotliCompressSync(Buffer.alloc(MIB)).subarray(0, 2);
  const { port } = await startHttpServer(
    t,
    ({ url }, response) =>
      void (url === '/br'
        ? response.writeHead(200, { 'Content-Encoding': 'br' }).write(startOfBrotli)
        : response.writeHead(200).write(Buffer.alloc(MIB - 1, 'x'))),
  );
  const send = createHttpClient({ allowPrivateNetwork: true });
  const ask = (account: string, path = '', deadlineMs = 60_000) =>
    holdingBodies(account, () =>
      send({
        url: new URL(`http://127.0.0.1:${port}/${path}`),
        method: 'GET',
        headers: {},
        deadlineMs,
        bodyLimit: () => MIB,
      }),
    ).then(
      ({ outcome }) => outcome,
      (error: unknown) => error,
    );
  const ofOne = Array.from({ length: 60 }, () => ask('ten_greedy'));
  t.true((await Promise.race(ofOne)) instanceof OutOfBodyMemory);
  t.true(bodyBudget.heldBytes <= 32 * MIB);
  const ofMany = Array.from({ length: 160 }, (_, no) => ask(`ten_${no}`));
  t.true((await Promise.race(ofMany)) instanceof OutOfBodyMemory);
  t.true(bodyBudget.heldBytes <= 128 * MIB);
  const decoding = Array.from({ length: 20 }, () => ask('ten_decoding', 'br', 10_000));
  t.true((await Promise.all(decoding)).some((end) => end instanceof OutOfBodyMemory));
  t.true(bodyBudget.heldBytes <= 128 * MIB);
};

const domains: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const name = `${tenantId.replace('_', '-')}.com`;
  for (let no = 0; no < 3; no += 1)
    await made(owner('POST', '/v1/monitors', { name: 'x', type: 'domain', target: name }));
  const nowMs = Date.now();
  const claims = await Promise.all(
    Array.from({ length: 20 }, () => claimDomain(api.database, name, { nowMs, untilMs: nowMs + 60_000 })),
  );
  t.is(claims.filter(Boolean).length, 1);
  t.is(await numberOf(api, 'SELECT count(*) FROM domains WHERE name = $1', [name]), 1);
};

const judging: Walker = async (t) => {
  const judge = new Judge();
  const observation: HttpObservation = {
    type: 'http',
    outcome: 'answered',
    startedAt: 0,
    latencyMs: 1,
    timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 1, downloadMs: 1 },
    certificate: null,
    status: 200,
    headers: {},
    body: HOSTILE_BODY,
    bodyTruncated: false,
    bodyStart: null,
    hadSecrets: false,
  };
  const target = httpTarget({ target: 'https://shop.example/', checkSpec: { assertions: HOSTILE_ASSERTIONS } });
  const before = process.cpuUsage();
  const { judgement } = await judge.judge({ target, observation, account: 'ten_1', check: null });
  const { user, system } = process.cpuUsage(before);
  await judge.close();
  t.like(judgement, { verdict: 'none', cause: null });
  // Each of the fifty patterns would take a second. The time includes starting the thread, and another run where a busy
  // machine cut the first one short.
  t.true((user + system) / 1000 < 1000);
};

const maintenance: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const add = (settings: object) =>
    owner('POST', '/v1/maintenance-windows', { name: 'x', all_monitors: true, duration_seconds: 60, ...settings });
  t.is((await add({ cron: '*/30 * * * *' })).status, 400);
  t.is((await add({ rrule: 'FREQ=SECONDLY' })).status, 400);
  t.is((await add({ rrule: `FREQ=DAILY;BYHOUR=${'1,'.repeat(300)}2` })).status, 400);
  t.is((await add({ tags: Array.from({ length: 21 }, (_, no) => `t${no}`) })).status, 400);
  const hourly = await statusesOf(30, () => add({ cron: '0 * * * *' }));
  t.deepEqual(hourly, [...Array.from({ length: 27 }, () => 201), 400, 400, 400]);
  t.true(
    (await numberOf(api, 'SELECT count(*) FROM maintenance_occurrences WHERE tenant_id = $1', [tenantId])) <= 40_000,
  );
  await api.database.pool.query('DELETE FROM maintenance_windows WHERE tenant_id = $1', [tenantId]);
  await api.database.pool.query('DELETE FROM maintenance_occurrences WHERE tenant_id = $1', [tenantId]);
  const later = { starts_at: Math.floor(Date.now() / 1000) + 86_400 };
  t.deepEqual(await statusesOf(501, () => add(later)), thenRefused(500, 201, 400));
  // Monitors created and deleted count for as long as their alerts may be held, plus a day.
  const monitor = () => owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example/' });
  const [{ json: one }] = [await monitor(), await monitor()];
  await api.database.pool.query('DELETE FROM maintenance_windows WHERE tenant_id = $1', [tenantId]);
  await add({ all_monitors: false, monitor_ids: [one['id']] });
  const { json: narrow } = await add({
    all_monitors: false,
    monitor_ids: [one['id']],
    starts_at: Math.floor(Date.now() / 1000) + 300,
  });
  await api.database.pool.query(
    `INSERT INTO current_times (monitor_no, occurrence_no)
     SELECT n, o.no FROM generate_series(-100000, -1) AS n,
       (SELECT min(occurrence_no) AS no FROM current_occurrences WHERE tenant_id = $1) o`,
    [tenantId],
  );
  for (const answer of [
    await add({}),
    await owner('PATCH', `/v1/maintenance-windows/${narrow['id']}`, { all_monitors: true, monitor_ids: [] }),
  ])
    t.regex(answer.text, /can cover at most 100000 monitors of this account/);
  t.is((await add(later)).status, 201, 'windows that do not start soon do not count');
  await api.database.pool.query('DELETE FROM current_times WHERE monitor_no < 0');
  const { owner: other } = await api.account();
  const named = { name: 'x', duration_seconds: 60, monitor_ids: Array.from({ length: 5000 }, (_, no) => `mon_${no}`) };
  t.deepEqual(await statusesOf(201, () => other('POST', '/v1/maintenance-windows', named)), thenRefused(200, 400, 429));
  const window = { name: 'x', all_monitors: true, duration_seconds: 60, cron: '0 3 * * *' };
  t.deepEqual(
    await statusesOf(61, () => other('POST', '/v1/maintenance-windows/preview', window)),
    thenRefused(60, 200, 429),
  );
  await boundMaintenanceReads(t);
  const noisy = await api.account();
  const { json: chat } = await noisy.owner('POST', '/v1/channels', { type: 'slack' });
  const monitorId = await made(noisy.owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example/' }));
  await api.database.pool.query(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, outcome, next_attempt_at,
       created_at, finished_at)
     SELECT 'dlv_preview' || n, $1, $2, $3, 'monitor.down', '{}', 'delivered', $4, $4, $4
     FROM generate_series(1, 100001) n`,
    [noisy.tenantId, chat.id, monitorId, (Math.floor(Date.now() / 86_400_000) - 0.5) * 86_400_000],
  );
  const whole = { ...window, cron: '0 0 * * *', duration_seconds: 86_340 };
  const preview = await noisy.owner('POST', '/v1/maintenance-windows/preview', whole);
  t.is(preview.json['held_alerts'], 100_000);
};

/** Checks the limits on reading the maintenance of monitors that had very many separate occurrences. */
async function boundMaintenanceReads(t: Parameters<Walker>[0]): Promise<void> {
  const { database } = t.context.api;
  const { owner, reader, tenantId } = await t.context.api.account();
  const add = async (name: string) => await made(owner('POST', '/v1/monitors', { name, tags: ['often'] }));
  const ids = [await add('x'), await add('y')];
  await database.pool.query(
    'UPDATE monitors SET created_at = created_at - 172800, state_since = state_since - 172800000 WHERE id = ANY($1)',
    [ids],
  );
  const fromMs = Date.now() - 86_400_000;
  await database.pool.query(
    `WITH o AS (
       INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, covered_at)
       SELECT 'mwn_x', $1, 'x', 'x' || i, $2::bigint + i * 1000, $2::bigint + i * 1000 + 500, true, '{}', '{}', 'hold',
         'exclude', 0, 0
       FROM generate_series(1, 50000) AS i RETURNING no, starts_at, ends_at
     )
     INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
     SELECT m.no, o.no, o.starts_at, o.ends_at FROM o, monitors m WHERE m.id = ANY($3)`,
    [tenantId, fromMs, ids],
  );
  const { rows } = await database.pool.query<{ no: number }>('SELECT no FROM monitors WHERE id = ANY($1)', [ids]);
  const read = { fromMs, toMs: Date.now() };
  t.is(await readExcludedTimes(database, { monitorNos: rows.map(({ no }) => no), ...read }), null);
  for (const { no } of rows)
    t.is((await readExcludedTimes(database, { monitorNos: [no], ...read }))?.get(no)?.excluded.length, 50_000);
  for (const path of [`/v1/overview/history?ids=${ids.join()}`, '/v1/overview/figures', '/v1/metrics'] as const)
    t.is((await reader('GET', path)).status, 200, path);
  t.is((await reader('GET', '/v1/sla?tag=often')).status, 400);
}

/** Walkers of monitors and their checks. */
export const WATCHING_WALKERS: Readonly<Record<string, Walker>> = {
  monitors,
  'dependencies of monitors': dependencies,
  'bulk changes': bulkChanges,
  results,
  'changes of state': changes,
  notes,
  maintenance,
  'status pages': statusPages,
  'checks of what is new': news,
  'requested checks': checksRequested,
  probes,
  judging,
  domains,
};
