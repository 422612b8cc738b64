import { createHash } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Agent } from '../../../models/agents/agents.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import type { MeasuredResult } from '../../../models/checks/check-results.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { resultOf } from '../../helpers/runtime.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const SECOND = 1000;
const START_MS = Math.floor(Date.now() / SECOND) * SECOND - 3_600_000;

type Wire = Record<string, unknown>;
type Story = {
  account: Account;
  monitorId: string;
  evaluate: (
    second: number,
    verdicts: readonly MeasuredResult['verdict'][],
    more?: Partial<MeasuredResult>,
  ) => Promise<void>;
  incidentId: () => Promise<string>;
};

/** Creates a monitor with two locations and one webhook, in a simulated time: seconds after START_MS. */
async function watched(api: ApiServer): Promise<Story> {
  await createPartitions(api.database, START_MS);
  const account = await api.account();
  const agents = (await account.reader('GET', '/v1/agents')).json['agents'];
  const agentIds = ['frankfurt', 'singapore'].flatMap((region) =>
    agents.filter((agent) => agent.region === region).map(({ id }) => id),
  );
  const created = await account.owner('POST', '/v1/monitors', {
    name: 'Shop',
    target: 'https://shop.example/',
    agent_sources: agentIds,
  });
  const monitorId = created.json['id'];
  await createChannel(api.database, {
    id: api.makeId('nch'),
    tenantId: account.tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: { url: 'https://hooks.example/x', signingSecret: 'whsec_c2VjcmV0' },
    nowMs: START_MS,
    author: null,
  });
  const { rows } = await api.database.pool.query<{ no: number; agent_no: number }>(
    'SELECT m.no, s.agent_no FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no JOIN agents a ON a.no ' +
      '= s.agent_no WHERE m.id = $1 ORDER BY a.region',
    [monitorId],
  );
  return {
    account,
    monitorId,
    async evaluate(second, verdicts, more = {}) {
      const nowMs = START_MS + second * SECOND + 400;
      const evaluate = createEvaluator({
        database: api.database,
        now: () => nowMs,
        newId: api.makeId,
        publicUrl: api.url,
      });
      await api.database.pool.query('UPDATE agents SET last_seen_at = $1', [Math.floor(nowMs / SECOND)]);
      await api.database.pool.query('UPDATE monitors SET state_since = least(state_since, $2) WHERE id = $1', [
        monitorId,
        START_MS,
      ]);
      await evaluate(
        verdicts.map((verdict, index) =>
          resultOf({ no: rows[0]?.no ?? 0 }, { no: rows[index]?.agent_no ?? 0 } as Agent, {
            dueAtMs: START_MS + second * SECOND,
            verdict,
            ...more,
          }),
        ),
      );
    },
    incidentId: async () =>
      String((await account.reader('GET', `/v1/incidents?monitor_id=${monitorId}`)).json['incidents'][0]?.['id']),
  };
}

/** Plays an outage: up, down from second 60 on, seen from both locations at second 120, and up again at 300. */
async function outage(api: ApiServer): Promise<Story> {
  const story = await watched(api);
  await story.evaluate(0, ['up', 'up']);
  await story.evaluate(60, ['down', 'down'], {
    phases: { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4, downloadMs: null },
    answer: { status: 503, headers: { 'retry-after': '30' }, body: 'closed' },
  });
  await story.evaluate(120, ['down', 'down']);
  return story;
}

const sourcesOf = (transition: Wire | undefined) => (transition?.['sources'] ?? []) as Wire[];

const at = (second: number) => START_MS / SECOND + second;

test('an incident shows its timeline, the verdicts and evidence of each location, and its deliveries', async (t) => {
  const { api } = t.context;
  const { account, monitorId, evaluate, incidentId } = await outage(api);
  await evaluate(300, ['up', 'up']);
  await evaluate(360, ['down', 'down']);
  await evaluate(420, ['down', 'down']);
  const [second = '', first = ''] = (await account.reader('GET', `/v1/incidents?monitor_id=${monitorId}`)).json[
    'incidents'
  ].map(({ id }) => String(id));
  t.is(await incidentId(), second);
  const { status, json, text } = await account.reader('GET', `/v1/incidents/${first}`);
  t.is(status, 200, text);
  t.like(json, {
    id: first,
    monitor_id: monitorId,
    status: 'resolved',
    state: 'down',
    started_at: at(60),
    detected_at: at(120),
    resolved_at: at(300),
    acknowledged_at: null,
    acknowledged_by: null,
    notes: [],
    truncated: [],
  });
  const timeline = json['timeline'];
  t.deepEqual(
    timeline.map(({ sequence, at: since, detected_at, from, to, cause }) => ({
      sequence,
      since,
      detected_at,
      from,
      to,
      cause,
    })),
    [
      { sequence: 2, since: at(60), detected_at: at(120), from: 'up', to: 'down', cause: 'status_503' },
      { sequence: 3, since: at(300), detected_at: at(300), from: 'down', to: 'up', cause: null },
    ],
  );
  t.deepEqual(sourcesOf(timeline[0])[0], {
    name: 'frankfurt',
    verdict: 'down',
    standing: 'votes',
    since: at(60),
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
  });
  t.deepEqual(
    sourcesOf(timeline[1]).map(({ verdict }) => verdict),
    ['up', 'down'],
    'one recovery left no quorum',
  );
  t.like(
    json['evidence'].find(({ source }) => (source as Wire)['name'] === 'frankfurt'),
    {
      at: at(60),
      verdict: 'down',
      cause: 'status_503',
      http_status: 503,
      phases: { dns_ms: 1, connect_ms: 2, tls_ms: 3, first_byte_ms: 4, download_ms: null },
      answer: { status: 503, headers: { 'retry-after': '30' }, body: 'closed', body_withheld: null },
    },
  );
  t.is(json['evidence'].length, 2);
  t.deepEqual(
    json['deliveries'].map(({ event, channel_name, channel_type, outcome, attempt_count, created_at }) => ({
      event,
      channel_name,
      channel_type,
      outcome,
      attempt_count,
      created_at,
    })),
    [
      {
        event: 'monitor.down',
        channel_name: 'Pager',
        channel_type: 'webhook',
        outcome: 'pending',
        attempt_count: 0,
        created_at: at(120),
      },
      {
        event: 'monitor.up',
        channel_name: 'Pager',
        channel_type: 'webhook',
        outcome: 'pending',
        attempt_count: 0,
        created_at: at(300),
      },
    ],
  );
  t.is(
    (await account.reader('GET', `/v1/incidents/${second}`)).json['deliveries'].length,
    1,
    'deliveries of the other incident are not shown',
  );
});

test('an incident shows the trace id of each first failure if spans or traceparent are enabled', async (t) => {
  const { api } = t.context;
  const { account, monitorId, incidentId } = await outage(api);
  const path = `/v1/incidents/${await incidentId()}` as const;
  const { json: without } = await account.reader('GET', path);
  t.false('trace_id' in without);
  t.true(without['evidence'].every((seen) => !('trace_id' in seen)));

  const sending = await api.another({
    recordFailedCheck: () => undefined,
    config: {
      publicUrl: api.url,
      planCountLimits: true,
      telegramBotName: null,
      slackClientId: null,
      trustedProxies: [],
      traceUrl: 'https://traces.example/t/{trace_id}?from={trace_id}',
    },
  });
  const { json } = await account.reader('GET', path, undefined, {}, sending);
  for (const { source, at: atSeconds, trace_id: traceId, trace_url: url } of json['evidence']) {
    t.is(
      traceId,
      createHash('sha256')
        .update(`${monitorId} ${source.id} ${atSeconds * SECOND}`)
        .digest('hex')
        .slice(0, 32),
    );
    t.is(url, `https://traces.example/t/${traceId}?from=${traceId}`);
  }
  t.is(json['trace_id'], json['evidence'][0]?.trace_id);
  t.is(json['trace_url'], json['evidence'][0]?.trace_url);
  t.is(new Set(json['evidence'].map(({ trace_id: traceId }) => traceId)).size, 2);

  await account.owner('PATCH', `/v1/monitors/${monitorId}`, { check_spec: { request: { traceparent: true } } });
  const { json: asked } = await account.reader('GET', path);
  t.is(asked['trace_id'], json['trace_id']);
  t.false('trace_url' in asked, 'this process has no trace URL');
});

test('a pause ends the incident, and the incident of a deleted monitor stays complete', async (t) => {
  const { api } = t.context;
  const paused = await outage(api);
  t.is((await paused.account.owner('POST', `/v1/monitors/${paused.monitorId}/pause`)).status, 200);
  const pausedId = await paused.incidentId();
  const timeline = (await paused.account.reader('GET', `/v1/incidents/${pausedId}`)).json['timeline'];
  t.deepEqual(
    timeline.map(({ to, sources }) => [to, (sources as unknown[]).length]),
    [
      ['down', 2],
      ['paused', 0],
    ],
  );
  const deleted = await outage(api);
  const deletedId = await deleted.incidentId();
  t.is((await deleted.account.owner('DELETE', `/v1/monitors/${deleted.monitorId}`)).status, 204);
  const { json } = await deleted.account.reader('GET', `/v1/incidents/${deletedId}`);
  t.like(json, { status: 'resolved', resolution: 'deleted', monitor_name: 'Shop' });
  t.is(json['timeline'].length, 1);
  t.is(json['evidence'].length, 2);
  t.is(json['deliveries'].length, 1);
});

test('a timeline and deliveries of more than 500 entries are cut and named as truncated', async (t) => {
  const { api } = t.context;
  const { account, monitorId, incidentId } = await outage(api);
  const id = await incidentId();
  await api.database.pool.query(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
     SELECT $1, n, $2, 'down', 'degraded', $3::bigint + n, $3::bigint + n, '{}' FROM generate_series(3, 603) n`,
    [monitorId, account.tenantId, START_MS + 200_000],
  );
  await api.database.pool.query(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
     SELECT d.id || n, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at + n
       FROM deliveries d, generate_series(1, 500) n
      WHERE monitor_id = $1 AND message -> 'detail' ->> 'incident_id' = $2`,
    [monitorId, id],
  );
  const { json } = await account.reader('GET', `/v1/incidents/${id}`);
  t.deepEqual(json['truncated'], ['timeline', 'deliveries']);
  t.is(json['timeline'].length, 500);
  t.is(json['deliveries'].length, 500);
});

test('a timeline is truncated after 4 MB of evidence', async (t) => {
  const { api } = t.context;
  const { account, monitorId, incidentId } = await outage(api);
  const id = await incidentId();
  const result = (atMs: number, reason: string) => ({ atMs, verdict: 'down', cause: 'timeout', reason });
  const said = {
    name: 'frankfurt',
    vote: 'down',
    fresh: true,
    decidedBy: [result(START_MS, 'x'.repeat(20_000)), result(START_MS + 1000, ''), result(START_MS + 2000, 'last')],
    streak: [result(START_MS, 'x'.repeat(20_000))],
  };
  const wordy = { ...said, decidedBy: [result(START_MS, 'y'.repeat(100_000))], streak: [] };
  await api.database.pool.query(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
     SELECT $1, n, $2, 'down', 'degraded', $3::bigint + n, $3::bigint + n, CASE WHEN n > 203 THEN $5::jsonb ELSE $4 END
     FROM generate_series(4, 263) n`,
    [
      monitorId,
      account.tenantId,
      START_MS + 200_000,
      JSON.stringify({ sources: [said] }),
      JSON.stringify({ sources: [wordy] }),
    ],
  );
  await api.database.pool.query('UPDATE incidents SET resolved_at = NULL, resolution = NULL WHERE id = $1', [id]);
  await api.database.pool.query('DELETE FROM transitions WHERE monitor_id = $1 AND sequence = 3', [monitorId]);
  const { json, text } = await account.reader('GET', `/v1/incidents/${id}`);
  t.deepEqual(json['truncated'], ['timeline']);
  t.true(json['timeline'].length > 220 && json['timeline'].length < 250, `${json['timeline'].length}`);
  t.true(text.length < 5_000_000);
  t.deepEqual(json['timeline'].find(({ sequence }) => sequence === 4)?.['sources'], [
    {
      name: 'frankfurt',
      verdict: 'down',
      standing: 'votes',
      since: START_MS / SECOND,
      cause: 'timeout',
      reason: 'last',
    },
  ]);
});

test('the first acknowledgement is kept, its note is added once, and it can be withdrawn', async (t) => {
  const { api } = t.context;
  const { account, incidentId } = await outage(api);
  const id = await incidentId();
  const acknowledge = async (body?: object) => await account.owner('POST', `/v1/incidents/${id}/acknowledge`, body);
  const first = await acknowledge({ note: 'Looking into it' });
  t.is(first.status, 200, first.text);
  t.like(first.json, { id, status: 'open', acknowledged_by: 'test' });
  await api.database.pool.query('UPDATE incidents SET acknowledged_at = acknowledged_at - 60000 WHERE id = $1', [id]);
  t.is((await acknowledge()).json['acknowledged_at'], Number(first.json['acknowledged_at']) - 60);
  t.is((await acknowledge({ note: 'Looking into it' })).status, 200);
  t.is((await acknowledge({ note: 'Found it' })).status, 200);
  const notes = async () => (await account.reader('GET', `/v1/incidents/${id}`)).json['notes'].map(({ text }) => text);
  t.deepEqual(await notes(), ['Looking into it', 'Found it']);
  const idsOf = async (query: string) =>
    (await account.reader('GET', `/v1/incidents${query}`)).json['incidents'].map((incident) => incident['id']);
  t.deepEqual(
    [
      await idsOf('?acknowledged=true'),
      await idsOf('?acknowledged=false'),
      await idsOf('?acknowledged=true&status=resolved'),
    ],
    [[id], [], []],
  );
  t.like((await account.owner('DELETE', `/v1/incidents/${id}/acknowledge`)).json, {
    id,
    acknowledged_at: null,
    acknowledged_by: null,
  });
  t.is((await account.owner('DELETE', `/v1/incidents/${id}/acknowledge`)).status, 200);
  t.deepEqual([await idsOf('?acknowledged=true'), await idsOf('?acknowledged=false')], [[], [id]]);
  t.deepEqual(await notes(), ['Looking into it', 'Found it']);
});

test('concurrent acknowledgements with the same note leave one acknowledgement and one note', async (t) => {
  const { api } = t.context;
  const { account, incidentId, evaluate } = await outage(api);
  const id = await incidentId();
  await evaluate(300, ['up', 'up']);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => account.owner('POST', `/v1/incidents/${id}/acknowledge`, { note: 'On it' })),
  );
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  );
  t.is(new Set(answers.map(({ json }) => json['acknowledged_at'])).size, 1);
  t.is((await account.reader('GET', `/v1/incidents/${id}`)).json['notes'].length, 1, 'even for a resolved incident');
});

test('notes keep line breaks, lose control characters, are listed oldest first and can be deleted', async (t) => {
  const { api } = t.context;
  const { account, incidentId } = await outage(api);
  const id = await incidentId();
  const path = `/v1/incidents/${id}/notes`;
  const added = await account.owner('POST', path, { text: '  Rolled\u0000 back\r\nto 4.12 \u001b[31m😀  ' });
  t.is(added.status, 201, added.text);
  t.deepEqual([added.json['text'], added.json['author']], ['Rolled  back\nto 4.12  [31m😀', 'test']);
  t.is((await account.owner('POST', path, { text: '😀'.repeat(4000) })).status, 201);
  const shown = (await account.reader('GET', `/v1/incidents/${id}`)).json['notes'];
  t.deepEqual(shown[0], added.json);
  t.is(shown.length, 2);
  t.is((await account.owner('DELETE', `${path}/${added.json['id']}`)).status, 204);
  isError(t, await account.owner('DELETE', `${path}/${added.json['id']}`), {
    status: 404,
    error: `note ${added.json['id']} does not exist`,
  });
  t.is((await account.reader('GET', `/v1/incidents/${id}`)).json['notes'].length, 1);
  isError(t, await account.owner('POST', path, { text: ' \u0007\n ' }), {
    status: 400,
    error: /^text must be a string of 1 to 4000 characters/,
  });
  isError(t, await account.owner('POST', path, { text: 'x'.repeat(4001) }), { status: 400, error: /^text must/ });
  isError(t, await account.owner('POST', path, {}), { status: 400, error: 'text is required' });
  isError(t, await account.owner('POST', path), { status: 400, error: /body/ });
  isError(t, await account.owner('POST', path, { text: 'a', author: 'me' }), {
    status: 400,
    error: 'author is not a known field',
  });
  isError(t, await account.owner('POST', `/v1/incidents/${id}/acknowledge`, { note: 7 }), {
    status: 400,
    error: /^note must/,
  });
});

test('an incident accepts at most 500 notes', async (t) => {
  const { api } = t.context;
  const { account, incidentId } = await outage(api);
  const id = await incidentId();
  await api.database.pool.query(
    `INSERT INTO incident_notes (id, incident_id, author, text, created_at) SELECT $1 || n, $1, 'bot', n::text, n
     FROM generate_series(1, 500) n`,
    [id],
  );
  const error = `incident ${id} has reached the limit of 500 notes: delete one first`;
  isError(t, await account.owner('POST', `/v1/incidents/${id}/notes`, { text: 'a' }), { status: 409, error });
  isError(t, await account.owner('POST', `/v1/incidents/${id}/acknowledge`, { note: 'a' }), { status: 409, error });
  t.is((await account.owner('POST', `/v1/incidents/${id}/acknowledge`)).status, 200);
});

test('read-only tokens cannot change an incident, and other accounts get a 404', async (t) => {
  const { api } = t.context;
  const { account, incidentId } = await outage(api);
  const id = await incidentId();
  const note = (await account.owner('POST', `/v1/incidents/${id}/notes`, { text: 'mine' })).json['id'];
  const stranger = await api.account();
  const writes: [string, string, object?][] = [
    ['POST', `/v1/incidents/${id}/acknowledge`],
    ['DELETE', `/v1/incidents/${id}/acknowledge`],
    ['POST', `/v1/incidents/${id}/notes`, { text: 'a' }],
    ['DELETE', `/v1/incidents/${id}/notes/${note}`],
  ];
  for (const [method, path, body] of writes) {
    isError(t, await account.reader(method, path, body), { status: 403, error: 'this token lacks the scope write' });
    isError(t, await stranger.owner(method, path, body), { status: 404, error: `incident ${id} does not exist` });
    t.is((await api.anonymous(method, path, body)).status, 401);
  }
  isError(t, await stranger.reader('GET', `/v1/incidents/${id}`), {
    status: 404,
    error: `incident ${id} does not exist`,
  });
  isError(t, await account.reader('GET', '/v1/incidents/inc_nowhere'), {
    status: 404,
    error: 'incident inc_nowhere does not exist',
  });
  isError(t, await account.reader('GET', '/v1/incidents?acknowledged=maybe'), {
    status: 400,
    error: /^acknowledged must be one of true, false, got "maybe"/,
  });
  isError(t, await account.reader('GET', `/v1/incidents/${id}?limit=3`), { status: 400, error: /limit/ });
  t.like((await account.reader('GET', `/v1/incidents/${id}`)).json, { acknowledged_at: null, notes: [{ id: note }] });
});

/** Returns the lines of a query plan that show which relations are read, and how. */
async function planOf(t: ExecutionContext<{ api: ApiServer }>, sql: string, bind: unknown[]): Promise<string> {
  const client = await t.context.api.database.pool.connect();
  try {
    // PostgreSQL scans small tables regardless of their indexes, so the test disables that.
    await client.query('BEGIN');
    await client.query('SET LOCAL enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, bind);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('the queries for one incident use indexes', async (t) => {
  const deliveries = await planOf(
    t,
    `SELECT id FROM deliveries d WHERE d.monitor_id = $1 AND d.created_at BETWEEN $2 AND $3
     AND d.message -> 'detail' ->> 'incident_id' = $4 ORDER BY d.created_at, d.no LIMIT 501`,
    ['mon_1', 0, 1, 'inc_1'],
  );
  t.regex(deliveries, /Index Scan using deliveries_monitor on deliveries/);
  const opening = await planOf(
    t,
    `SELECT min(sequence) FROM transitions WHERE monitor_id = $1 AND at = $2 AND detected_at = $3
     AND to_state IN ('down', 'degraded')`,
    ['mon_1', 0, 1],
  );
  t.regex(opening, /Index Scan/);
});
