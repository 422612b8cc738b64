import anyTest, { type TestFn } from 'ava';
import { createPartitions } from '../../../models/system/partitions.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const NOW_MS = Date.parse('2027-01-15T18:30:00Z');
withApiServer(test, { now: () => NOW_MS });

const NIGHTLY = { cron: '30 2 * * *', timezone: 'europe/berlin' };
const NEXT_NIGHT = {
  at: Date.parse('2027-01-16T01:30:00Z') / 1000,
  utc: '2027-01-16T01:30:00Z',
  local: '2027-01-16T02:30:00+01:00',
  timezone: 'Europe/Berlin',
};

const scheduled = (schedule: object, rest: object = {}) => ({
  name: 'Backup',
  type: 'heartbeat',
  check_spec: { heartbeat: { schedule } },
  ...rest,
});

type Expected = { at: number; utc: string; local: string; timezone: string } | null;

test('a schedule is stored with the canonical zone name, and reads show the next run in both zones', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const created = await owner('POST', '/v1/monitors', scheduled(NIGHTLY));
  t.is(created.status, 201, created.text);
  const id = String(created.json['id']);
  const shown = await owner('GET', `/v1/monitors/${id}`);
  t.is(shown.status, 200, shown.text);
  const detail = shown.json;
  const { heartbeat } = detail['check_spec'] as { heartbeat: { schedule: object } };
  t.deepEqual(heartbeat.schedule, { cron: '30 2 * * *', timezone: 'Europe/Berlin', early_seconds: 60 });
  t.is(detail['interval_seconds'], 86_400, 'used by releases without schedules');
  t.deepEqual(detail['next_expected'], NEXT_NIGHT);
  for (const path of ['/v1/monitors', '/v1/overview']) {
    const { json } = await owner('GET', path);
    t.deepEqual((json['monitors'] as { next_expected: Expected }[])[0]?.next_expected, NEXT_NIGHT, path);
  }
});

test('the next expected ping changes with edits and pauses', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const { json } = await owner('POST', '/v1/monitors', { name: 'Sync', type: 'heartbeat', interval_seconds: 600 });
  const path = `/v1/monitors/${String(json['id'])}`;
  const read = async () => {
    const { next_expected: next, created_at: createdAt } = (await owner('GET', path)).json;
    return { next: next as Expected, createdAt: Number(createdAt) };
  };
  const { next, createdAt } = await read();
  t.true(Math.abs((next?.at ?? 0) - createdAt - 600) <= 1);
  t.is(next?.timezone, 'UTC');
  t.is(next?.local, next?.utc.replace('Z', '+00:00'));
  t.is((await owner('PATCH', path, { check_spec: { heartbeat: { schedule: NIGHTLY } } })).status, 200);
  t.is((await read()).next?.timezone, 'Europe/Berlin');
  t.like((await owner('POST', `${path}/pause`)).json, { next_expected: null });
  t.truthy((await owner('POST', `${path}/resume`)).json['next_expected']);
  t.is((await owner('PATCH', path, { name: 'Sync 2' })).status, 200);
  t.is((await read()).next?.timezone, 'Europe/Berlin', 'a PATCH without check_spec keeps the schedule');
  t.is((await owner('PATCH', path, { check_spec: { heartbeat: {} } })).status, 200);
  t.is((await read()).next?.timezone, 'UTC', 'check_spec replaces it');
});

test('an early ping counts for the run that it precedes', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  await createPartitions(api.database, NOW_MS);
  const { json } = await owner('POST', '/v1/monitors', scheduled({ ...NIGHTLY, early_seconds: 8 * 3600 }));
  const path = `/v1/monitors/${String(json['id'])}`;
  const read = async () => (await owner('GET', path)).json;
  t.deepEqual((await read())['next_expected'], NEXT_NIGHT);
  const { heartbeat } = (await read())['check_spec'] as { heartbeat: { token: string } };
  t.is((await api.anonymous('GET', `/ping/${heartbeat.token}`)).status, 200);
  t.is(((await read())['next_expected'] as Expected)?.utc, '2027-01-17T01:30:00Z');
});

const FIELD = 'check_spec.heartbeat.schedule';
const REFUSED: readonly [schedule: object, error: RegExp][] = [
  [{ cron: '0 0 31 2 *' }, new RegExp(`^${FIELD}.cron has no runs in the next ten years`)],
  [{ cron: '*/10 * * * * *' }, new RegExp(`^${FIELD}.cron must be five fields`)],
  [{ cron: '61 * * * *' }, new RegExp(`^${FIELD}.cron must be an expression`)],
  [{ cron: '' }, new RegExp(`^${FIELD}.cron `)],
  [{ cron: '0,'.repeat(200) }, new RegExp(`^${FIELD}.cron `)],
  [{ cron: 7 }, new RegExp(`^${FIELD}.cron `)],
  [{ timezone: 'UTC' }, new RegExp(`^${FIELD}.cron `)],
  [{ ...NIGHTLY, timezone: 'Mars/Olympus' }, new RegExp(`^${FIELD}.timezone must be a zone of the IANA`)],
  [{ ...NIGHTLY, timezone: null }, new RegExp(`^${FIELD}.timezone `)],
  [{ cron: '* * * * *', early_seconds: 60 }, new RegExp(`^${FIELD}.early_seconds must be at most 59`)],
  [{ ...NIGHTLY, early_seconds: -1 }, new RegExp(`^${FIELD}.early_seconds `)],
  [{ ...NIGHTLY, early_seconds: 86_401 }, new RegExp(`^${FIELD}.early_seconds `)],
  [{ ...NIGHTLY, every: 3 }, new RegExp(`^${FIELD}.every is not a known field`)],
];
for (const [schedule, error] of REFUSED) {
  test(`${JSON.stringify(schedule).slice(0, 80)} is a 400 that names the field, and nothing is created`, async (t) => {
    const { api } = t.context;
    const { owner } = await api.account();
    isError(t, await owner('POST', '/v1/monitors', scheduled(schedule)), { status: 400, error });
    t.deepEqual((await owner('GET', '/v1/monitors')).json, { monitors: [] });
  });
}

test('schedules apply to heartbeats only, and next_expected is read-only', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  isError(t, await owner('POST', '/v1/monitors', scheduled(NIGHTLY, { type: 'http', target: 'https://example.com' })), {
    status: 400,
    error: /^check_spec\.heartbeat does not apply to http monitors/,
  });
  isError(t, await owner('POST', '/v1/monitors', scheduled(NIGHTLY, { next_expected: null })), {
    status: 400,
    error: /next_expected/,
  });
});

test('a schedule change is recorded in the audit log', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const { json } = await owner('POST', '/v1/monitors', scheduled(NIGHTLY));
  await owner('PATCH', `/v1/monitors/${String(json['id'])}`, {
    check_spec: { heartbeat: { schedule: { cron: '@hourly' } } },
  });
  const { rows } = await api.database.pool.query<{ changes: object }>(
    `SELECT changes FROM audit_log WHERE tenant_id = $1 AND action = 'monitor.changed'`,
    [tenantId],
  );
  t.is(rows.length, 1);
  t.regex(JSON.stringify(rows[0]?.changes), /30 2 \* \* \*.*@hourly/);
});

test('a schedule preview shows the next five runs in both zones, or what is wrong', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const { status, json, text } = await owner('POST', '/v1/monitors/schedule-preview', NIGHTLY);
  t.is(status, 200, text);
  t.deepEqual(json['schedule'], { cron: '30 2 * * *', timezone: 'Europe/Berlin', early_seconds: 60 });
  const runs = json['runs'] as NonNullable<Expected>[];
  t.is(runs.length, 5);
  t.deepEqual(runs[0], NEXT_NIGHT);
  for (const { at, utc, local } of runs) {
    t.is(Date.parse(utc), at * 1000);
    t.is(Date.parse(local), at * 1000);
    t.regex(local, /T02:30:00/);
  }
  isError(t, await reader('POST', '/v1/monitors/schedule-preview', NIGHTLY), { status: 403, error: /write/ });
  isError(t, await owner('POST', '/v1/monitors/schedule-preview', { cron: '0 0 31 2 *' }), {
    status: 400,
    error: /^cron has no runs/,
  });
});
