import test, { type ExecutionContext } from 'ava';
import type { Vote } from '../../../core/checks/verdict.ts';
import { answerCanary, CANARY, MAX_ADDRESSES } from '../../../core/system/canary.ts';
import { findTenant, listTenants } from '../../../models/accounts/tenants.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { listTenantsWithout } from '../../../models/statistics/reports.ts';
import { listCanaryAddresses, openCanaryAddress, storeCanaryAddress } from '../../../models/system/canary-addresses.ts';
import { findCanary } from '../../../models/system/canary.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { createCanaryKeeper } from '../../../workers/system/canary.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const KEY = { tenantId: CANARY.tenantId, id: CANARY.monitorId };
const TURN = 'assert_text_body_contains';

/** Sets up a canary keeper for the given addresses, on time that the test sets. */
async function prepare(t: ExecutionContext, urls: readonly string[], regions = ['local']) {
  const runtime = await openTestRuntime(t);
  const agents = await Promise.all(regions.map(runtime.addAgent));
  const time = { nowMs: Date.now() };
  const now = () => time.nowMs;
  const options = { urls, target: 'http://web:3000', seconds: 30 };
  const keep = createCanaryKeeper({ ...runtime, now }, options);
  const evaluate = createEvaluator({ ...runtime, now });
  /** Evaluates a result of all or some locations, half a minute after the last one. */
  const check = async (verdict: Vote, cause: string | null = null, from = agents) => {
    time.nowMs += 30_000;
    const monitor = (await findMonitor(runtime.database, KEY))?.monitor;
    if (monitor === undefined) throw new Error('There is no canary');
    return await evaluate(
      from.map((agent) => resultOf(monitor, agent, { dueAtMs: time.nowMs, verdict, cause: cause as never })),
    );
  };
  return { runtime, agents, time, keep, check, options: { ...runtime, now } };
}

async function countRows({ database }: TestRuntime, table: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]?.count ?? -1;
}

test('without an address there is no canary', async (t) => {
  const { runtime, keep } = await prepare(t, []);
  t.deepEqual(await keep(), { addresses: 0 });
  t.is(await findCanary(runtime.database), null);
  t.is(await countRows(runtime, 'deliveries'), 0);
});

test('before the first address and after the last one the chore makes one query', async (t) => {
  const { runtime, options } = await prepare(t, []);
  const { database, newId } = runtime;
  let queries = 0;
  const pool = new Proxy(database.pool, {
    get(target, name) {
      if (name !== 'query' && name !== 'connect') return Reflect.get(target, name);
      queries += 1;
      return target[name].bind(target);
    },
  });
  const counted = createCanaryKeeper(
    { ...options, database: { ...database, pool } },
    { urls: [], target: null, seconds: 30 },
  );
  const countQueries = async () => {
    queries = 0;
    await counted();
    return queries;
  };
  t.is(await countQueries(), 1);
  const given = { origin: 'command', name: 'c', url: 'https://c.example/3' } as const;
  await storeCanaryAddress(database, given, { newId, nowMs: options.now() });
  t.true((await countQueries()) > 1);
  await database.pool.query(`DELETE FROM channels WHERE name LIKE 'command %'`);
  t.true((await countQueries()) > 1, 'the canary is still checked');
  t.is(await countQueries(), 1);
});

test('the canary is checked from every running region, and its account is in no list of accounts', async (t) => {
  const { runtime, agents, keep, time } = await prepare(t, ['https://hc.example/x?y'], ['local', 'hanoi']);
  const { database } = runtime;
  t.deepEqual(await keep(), { addresses: 1 });
  const found = await findMonitor(database, KEY);
  t.like(found?.monitor, { target: 'http://web:3000/canary', intervalSeconds: 30, downMinSources: 2, enabled: true });
  t.deepEqual(found?.agentIds, agents.map(({ id }) => id).toSorted());
  t.deepEqual(
    (await listTenants(database)).map(({ id }) => id),
    [runtime.tenantId],
  );
  t.is(await findTenant(database, CANARY.tenantId), null);
  await database.pool.query('UPDATE tenants SET created_at = 0');
  const week = { period: 'week', startSeconds: 604_800, endSeconds: 1_209_600 } as const;
  const missing = await listTenantsWithout(database, [week]);
  t.false(missing.some(({ id }) => id === CANARY.tenantId));

  // A silent region is kept, because the canary has to reveal its failure. A new region joins.
  time.nowMs += 600_000;
  const hue = await runtime.addAgent('hue');
  await database.pool.query('UPDATE agents SET last_seen_at = $1 WHERE id = $2', [
    Math.floor(time.nowMs / 1000),
    hue.id,
  ]);
  await keep();
  t.deepEqual((await findMonitor(database, KEY))?.agentIds, [...agents, hue].map(({ id }) => id).toSorted());
  t.is((await findMonitor(database, KEY))?.monitor.downMinSources, 3);
});

test('each mark permits one intended change, and only intended changes are delivered', async (t) => {
  const { runtime, keep, check, time } = await prepare(t, ['https://hc.example/x']);
  await keep();
  const answer = async () => {
    const canary = await findCanary(runtime.database);
    return canary && answerCanary(canary);
  };
  t.is((await check('up')).deliveries.length, 1);
  t.is(await answer(), 'up', 'not marked since');
  time.nowMs += 5000;
  await keep();
  t.is(await answer(), 'down');
  t.is((await check('down', TURN)).deliveries.length, 1);
  t.is(await answer(), 'down', 'not marked since');
  time.nowMs += 5000;
  await keep();
  t.is(await answer(), 'up');
  t.is((await check('up')).deliveries.length, 1);
  const broken = await check('down', 'conn_refused');
  t.is(broken.transitions.length, 1);
  t.is(broken.deliveries.length, 0, 'web is unreachable, so nothing is sent');
});

test('while a location misses checks no change is permitted, even if the quorum could decide', async (t) => {
  const { runtime, agents, keep, check, time } = await prepare(t, ['https://hc.example/x'], ['local', 'hanoi']);
  const isPermitted = async () => {
    await keep();
    return (await findCanary(runtime.database))?.markedAtMs === time.nowMs;
  };
  t.true(await isPermitted());
  await check('up');
  t.true(await isPermitted());
  await check('down', TURN);
  t.true(await isPermitted());
  // The silent location's down vote remains: the other one turns the canary up, and down again.
  for (const [verdict, cause] of [['up', null] as const, ['down', TURN] as const]) {
    await check(verdict, cause, agents.slice(1));
    t.false(await isPermitted());
  }
  await check('up');
  t.true(await isPermitted());
});

test("ten minutes later only the canary's newest transition and newest delivered ping are kept", async (t) => {
  const { runtime, keep, check, time } = await prepare(t, ['https://hc.example/x']);
  await keep();
  for (let turn = 0; turn < 10; turn += 1) await check(turn % 2 === 0 ? 'up' : 'down', turn % 2 === 0 ? null : TURN);
  t.is(await countRows(runtime, 'deliveries'), 10);
  const arrived = `UPDATE deliveries SET outcome = 'delivered', finished_at = created_at WHERE no = 1`;
  await runtime.database.pool.query(arrived);
  time.nowMs += 601_000;
  await keep();
  // The newest transition has the state, and the newest delivered ping its time.
  t.is(await countRows(runtime, 'transitions'), 1);
  t.is(await countRows(runtime, 'deliveries'), 1);
  t.is(await countRows(runtime, 'incidents WHERE resolved_at IS NOT NULL'), 0);
  t.truthy((await listCanaryAddresses(runtime.database))[0]?.pingedAtMs);
});

test('after the clock is set back the newest ping is the last one, not the one with the latest time', async (t) => {
  const { runtime, keep, check, time } = await prepare(t, ['https://hc.example/x']);
  await keep();
  for (const turn of ['up', 'down', 'up'] as const) await check(turn, turn === 'down' ? TURN : null);
  const query = (text: string) => runtime.database.pool.query(text);
  await query(`UPDATE deliveries SET outcome = 'delivered', finished_at = created_at`);
  await query('UPDATE deliveries SET created_at = created_at + 600000, finished_at = created_at + 600000 WHERE no = 2');
  const pingedAtMs = async () => (await listCanaryAddresses(runtime.database))[0]?.pingedAtMs ?? 0;
  t.true((await pingedAtMs()) <= time.nowMs);
  time.nowMs += 1_201_000;
  await keep();
  t.true((await pingedAtMs()) < time.nowMs - 1_200_000, 'the last ping is the one kept');
});

test('addresses from the environment follow it, those added by command stay; without any it pauses', async (t) => {
  const { runtime, keep, options, time } = await prepare(t, ['https://a.example/1', 'https://b.example/2']);
  const { database, newId } = runtime;
  const given = { origin: 'command', name: 'c', url: 'https://c.example/3' } as const;
  t.true(await storeCanaryAddress(database, given, { newId, nowMs: time.nowMs }));
  t.deepEqual(await keep(), { addresses: 3 });
  t.deepEqual(await keep(), { addresses: 3 });
  const later = createCanaryKeeper(options, { urls: ['https://b.example/2'], target: null, seconds: 30 });
  t.deepEqual(await later(), { addresses: 2 });
  t.is((await findMonitor(database, KEY))?.monitor.target, 'http://localhost:3000/canary');
  const stored = (await listCanaryAddresses(database)).find(({ origin }) => origin === 'environment');
  t.is(stored?.host, 'b.example');
  t.false(JSON.stringify(await listCanaryAddresses(database)).includes('/2'));
  t.is(await openCanaryAddress(database, stored?.channelId ?? ''), 'https://b.example/2');

  await database.pool.query(`DELETE FROM channels WHERE name LIKE 'command %'`);
  const none = createCanaryKeeper(options, { urls: [], target: null, seconds: 30 });
  t.deepEqual(await none(), { addresses: 0 });
  t.false((await findMonitor(database, KEY))?.monitor.enabled);
  t.deepEqual(await later(), { addresses: 1 });
  t.true((await findMonitor(database, KEY))?.monitor.enabled);
});

test(`at most ${MAX_ADDRESSES} addresses are stored, and more are logged once`, async (t) => {
  const urls = Array.from({ length: MAX_ADDRESSES }, (_, index) => `https://a.example/${index}`);
  const { runtime, keep, time } = await prepare(t, urls);
  const { database, newId } = runtime;
  const given = { origin: 'command', name: 'c', url: 'https://c.example/3' } as const;
  await storeCanaryAddress(database, given, { newId, nowMs: time.nowMs });
  t.deepEqual(await keep(), { addresses: MAX_ADDRESSES });
  await keep();
  t.is(runtime.logLines.filter(({ msg }) => msg === 'canary.too_many_addresses').length, 1);
  const more = { origin: 'command', name: 'd', url: 'https://d.example/4' } as const;
  t.false(await storeCanaryAddress(database, more, { newId, nowMs: time.nowMs }));
});

test('a stuck canary is logged once, and once more when it works again', async (t) => {
  const { runtime, keep, check, time } = await prepare(t, ['https://hc.example/x']);
  await keep();
  await check('up');
  await check('down', 'conn_refused');
  const lines = () => runtime.logLines.filter(({ msg }) => String(msg).startsWith('canary.'));
  await keep();
  t.deepEqual(lines(), []);
  time.nowMs += 91_000;
  await keep();
  await keep();
  t.is(lines().length, 1);
  t.like(lines()[0], { msg: 'canary.stuck', state: 'down', target: 'http://web:3000/canary' });
  await check('up');
  await keep();
  t.like(lines()[1], { msg: 'canary.works', state: 'up' });
});
