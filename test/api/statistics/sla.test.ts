import anyTest, { type TestFn } from 'ava';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addMonitor, addTransitions } from './measured-monitor.ts';

const NOW_MS = Date.parse('2026-03-10T12:00:00Z');
const HOUR = 3600;
const NONE = { up: 0, degraded: 0, down: 0, unknown: 0, paused: 0, pending: 0, maintenance: 0 };
/** A week in which New York's clocks go forward, on Sunday the 8th: 50 hours on weekdays, and 4 on that Sunday. */
const WEEK = { from: Date.UTC(2026, 2, 2, 5) / 1000, to: Date.UTC(2026, 2, 9, 4) / 1000 };
const SLA = { target: 99, timezone: 'America/New_York', hours: 'Mo-Fr 08:00-18:00; Su 01:00-06:00' };

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, { now: () => NOW_MS });

const at = (text: string): number => Date.parse(`2026-03-${text}Z`);

/** Adds a monitor that was down on Tuesday from 17:00 to 19:00, and in the following night, in New York. */
async function addShop(api: ApiServer, account: Account, body: object = {}): Promise<{ id: string; no: number }> {
  const monitor = await addMonitor(api, account, { createdAtMs: at('01T00:00:00'), body });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: monitor.id }, [
    [at('01T00:00:00'), 'up'],
    [at('03T22:00:00'), 'down'],
    [at('04T00:00:00'), 'up'],
    [at('04T08:00:00'), 'down'],
    [at('04T09:00:00'), 'up'],
  ]);
  return monitor;
}

/** Adds maintenance of a monitor, on Tuesday from 17:30 to 19:30 in New York. */
async function addMaintenance(
  { database }: ApiServer,
  { tenantId, no, sla }: { tenantId: string; no: number; sla: 'exclude' | 'count' },
): Promise<void> {
  await database.pool.query(
    `WITH o AS (
       INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds)
       VALUES ('mnt_' || $2::int, $1, 'Upgrade', '', $4, $5, true, '{}', '{}', 'hold', $3, 0) RETURNING no)
     INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at) SELECT $2::int, no, $4, $5 FROM o`,
    [tenantId, no, sla, at('03T22:30:00'), at('04T00:30:00')],
  );
}

test('monitor statistics include the service hours, in the local time of their zone', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addShop(api, account, { sla: SLA });
  const stats = await account.reader('GET', `/v1/monitors/${id}/stats?from=${WEEK.from}&to=${WEEK.to}&resolution=day`);
  t.is(stats.status, 200, stats.text);
  t.deepEqual(stats.json['totals']['service_hours'], {
    ...SLA,
    exclude_maintenance: true,
    uptime_percent: 98.148,
    met: false,
    budget: { total_seconds: 1944, used_seconds: HOUR, left_seconds: 1944 - HOUR },
    seconds: { ...NONE, up: 53 * HOUR, down: HOUR },
  });
  await account.owner('PATCH', `/v1/monitors/${id}`, { sla: null });
  const without = await account.reader('GET', `/v1/monitors/${id}/stats`);
  t.is(without.json['totals']['service_hours'], null);
});

for (const { sla, excludes, seconds } of [
  { sla: 'exclude', excludes: true, seconds: { up: 53 * HOUR, down: HOUR / 2, maintenance: HOUR / 2 } },
  { sla: 'exclude', excludes: false, seconds: { up: 53 * HOUR, down: HOUR } },
  { sla: 'count', excludes: true, seconds: { up: 53 * HOUR, down: HOUR } },
] as const) {
  test(`maintenance is excluded only if window (${sla}) and SLA (${excludes}) both say so`, async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const { id, no } = await addShop(api, account, { sla: { ...SLA, exclude_maintenance: excludes } });
    await addMaintenance(api, { tenantId: account.tenantId, no, sla });
    const stats = await account.reader(
      'GET',
      `/v1/monitors/${id}/stats?from=${WEEK.from}&to=${WEEK.to}&resolution=day`,
    );
    t.deepEqual(stats.json['totals']['service_hours']?.seconds, { ...NONE, ...seconds });
  });
}

test('the SLA of tags adds up the service hours of their monitors, of one account only', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const shop = await addShop(api, account, { name: 'Shop', tags: ['shop', 'env:prod'] });
  await addMaintenance(api, { tenantId: account.tenantId, no: shop.no, sla: 'exclude' });
  const second = await addMonitor(api, account, {
    createdAtMs: WEEK.to * 1000 - 20 * HOUR * 1000,
    body: { name: 'Young', tags: ['shop', 'env:prod'] },
  });
  await addShop(api, account, { tags: ['shop'] });
  await addShop(api, stranger, { tags: ['shop', 'env:prod'] });
  const query = new URLSearchParams({ ...SLA, target: '99.2', from: String(WEEK.from), to: String(WEEK.to) });
  const answer = await account.reader('GET', `/v1/sla?tag=shop&tag=env:prod&${query.toString()}`);
  t.is(answer.status, 200, answer.text);
  const left = { up: 53 * HOUR, down: HOUR / 2, maintenance: HOUR / 2 };
  t.deepEqual(answer.json, {
    tags: ['shop', 'env:prod'],
    ...WEEK,
    total: {
      ...SLA,
      target: 99.2,
      exclude_maintenance: true,
      uptime_percent: 99.065,
      met: false,
      budget: { total_seconds: 1540, used_seconds: HOUR / 2, left_seconds: 1540 - HOUR / 2 },
      seconds: { ...NONE, ...left, pending: 2 * HOUR },
    },
    monitors: [
      {
        id: shop.id,
        name: 'Shop',
        uptime_percent: 99.065,
        met: false,
        budget: { total_seconds: 1540, used_seconds: HOUR / 2, left_seconds: 1540 - HOUR / 2 },
        seconds: { ...NONE, ...left },
      },
      {
        id: second.id,
        name: 'Young',
        uptime_percent: null,
        met: null,
        budget: null,
        seconds: { ...NONE, pending: 2 * HOUR },
      },
    ],
  });
  const whole = await account.reader('GET', `/v1/sla?tag=shop&exclude_maintenance=false`);
  t.like(whole.json['total'], { target: null, met: null, hours: '24/7', timezone: 'UTC', exclude_maintenance: false });
  t.is(whole.json['from'], NOW_MS / 1000 - 30 * 86_400);
  t.deepEqual((await account.reader('GET', '/v1/sla?tag=none')).json['monitors'], []);
});

for (const [query, error] of [
  ['', 'tag is required'],
  ['tag=', 'tag[0] must be a tag such as prod or env:prod, of letters, digits and . _ / -, got ""'],
  ['tag=a&target=0x10', 'target must be a number in decimal digits, got "0x10"'],
  ['tag=a&hours=Mo%208', 'hours has unknown times, "8": write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00'],
  [
    'tag=a&timezone=browser&hours=Mo%2025:00-26:00',
    'timezone must be a zone of the IANA time zone database, such as Europe/Berlin, got "browser"; hours has unknown ' +
      'times, "25:00-26:00": write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00',
  ],
  ['tag=a&target=0', 'target must be a number above 0 and at most 100, got 0'],
  ['tag=a&from=0', `from must be at most 400 days before to (${NOW_MS / 1000}), got 0`],
  ['tag=a&from=1e9', 'from must be a whole number in decimal digits, got "1e9"'],
] as const) {
  test(`the SLA of tags refuses "${query}"`, async (t) => {
    const { reader } = await t.context.api.account();
    isError(t, await reader('GET', `/v1/sla?${query}`), { status: 400, error });
  });
}
