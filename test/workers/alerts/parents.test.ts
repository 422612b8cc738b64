import test, { type ExecutionContext } from 'ava';
import type { Vote } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { deleteOldDeliveries } from '../../../models/alerts/deliveries.ts';
import { claimDeliveries } from '../../../models/alerts/delivery-attempts.ts';
import { muteMonitor } from '../../../models/alerts/mutes.ts';
import { awaitOwnResults, makeDecidedDue } from '../../../models/alerts/parent-holds.ts';
import { replaceParents } from '../../../models/monitors/dependencies.ts';
import { deleteMonitor, pauseMonitor } from '../../../models/monitors/monitor-changes.ts';
import { inTransaction, type Run } from '../../../models/sql.ts';
import { decideByParents, watchParents } from '../../../workers/alerts/join-parents.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { WAITING } from '../../helpers/database.ts';
import { addHeartbeat } from '../../helpers/heartbeats.ts';
import { changeMonitor, resultOf } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';
import { SECOND, prepareParents } from './prepare-parents.ts';

test('a first failure rechecks the parents at once, and the alert waits for them', async (t) => {
  const { change, add, addChannel, deliver, at, run } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']], { downAfterFailures: 2 });
  const chat = await addChannel('telegram');
  const { rechecks } = await change('down', 0, [shop]);
  t.true(rechecks.some(({ monitorNo, atMs }) => monitorNo === router.no && atMs === at(0)));
  const [source] = await run<{ at: number }>('SELECT look_at AS at FROM monitor_sources WHERE monitor_no = $1', [
    router.no,
  ]);
  t.is(source?.at, at(0));
  // The second failure requests no second recheck, and is decisive.
  const second = await change('down', 20, [shop]);
  t.false(second.rechecks.some(({ monitorNo }) => monitorNo === router.no));
  t.deepEqual(await deliver(chat, 20), []);
});

test('if the parent is down, its message names the monitors behind it, and only its recovery is sent', async (t) => {
  const { change, add, addChannel, deliver, outcomes } = await prepareParents(t);
  const router = await add('Router');
  const behind = [await add('Blog', [[router, 'hold']]), await add('Shop', [[router, 'hold']])];
  const chat = await addChannel('telegram');
  await change('down', 0, behind);
  t.deepEqual(await deliver(chat, 0), []);
  await change('down', 1, [router]);
  t.deepEqual(await deliver(chat, 1), ['Down: Router. And 2 behind it: Blog, Shop']);
  t.deepEqual((await outcomes(chat)).toSorted(), [
    'Blog down superseded parent Router',
    'Router down delivered',
    'Shop down superseded parent Router',
  ]);
  await change('up', 60, [router]);
  t.deepEqual(await deliver(chat, 60), ['Recovered: Router']);
  await change('up', 70, behind);
  t.deepEqual(await deliver(chat, 70), []);
  t.deepEqual(await deliver(chat, 1000), []);
});

test('an alert is sent if the parent is up, or is not checked in time', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const blog = await add('Blog', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [shop]);
  t.deepEqual(await deliver(chat, 0.5), []);
  await change('up', 0.7, [router]);
  t.deepEqual(await deliver(chat, 1), ['Down: Shop']);
  await change('up', 10, [shop]);
  t.deepEqual(await deliver(chat, 10), ['Recovered: Shop']);
  await change('down', 60, [blog]);
  t.deepEqual(await deliver(chat, 66), []);
  t.deepEqual(await deliver(chat, 67), ['Down: Blog']);
});

/** Copies the only alert of a channel a thousand times, with ids that sort first, as those of earlier alerts do. */
async function addCopies(run: Run, channelId: string): Promise<void> {
  const id = `'dlv_0000' || lpad(n::text, 4, '0')`;
  const copies = 'CROSS JOIN generate_series(1, 1000) AS n WHERE d.channel_id = $1';
  await run(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
     SELECT ${id}, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at
     FROM deliveries d ${copies}`,
    [channelId],
  );
  await run(
    `WITH copied AS (
       SELECT ${id} AS copy_id, d.id FROM deliveries d ${copies} AND d.id NOT LIKE 'dlv_0000%'
     ), held AS (
       INSERT INTO held_deliveries (delivery_id, reason, held_by)
       SELECT copy_id, h.reason, h.held_by FROM copied c JOIN held_deliveries h ON h.delivery_id = c.id
     )
     INSERT INTO parent_holds (delivery_id, monitor_id, sequence, parent_id, since, awaits_own)
     SELECT copy_id, h.monitor_id, h.sequence, h.parent_id, h.since, h.awaits_own
     FROM copied c JOIN parent_holds h ON h.delivery_id = c.id`,
    [channelId],
  );
}

test('a thousand alerts that wait for one parent delay no alert of another', async (t) => {
  const { runtime, run, change, add, addChannel, at } = await prepareParents(t);
  const [router, office, store] = [await add('Router'), await add('Office'), await add('Store')];
  await run(`UPDATE monitors SET state = 'paused' WHERE no = $1`, [store.no]);
  const shop = await add('Shop', [[router, 'hold']]);
  const printer = await add('Printer', [
    [office, 'hold'],
    [store, 'hold'],
    [router, 'annotate'],
  ]);
  const scanner = await add('Scanner', [
    [office, 'hold'],
    [router, 'hold'],
  ]);
  const chat = await addChannel('telegram', [shop.id]);
  const [other, both] = [await addChannel('telegram', [printer.id]), await addChannel('telegram', [scanner.id])];
  await change('down', 0, [shop, printer, scanner]);
  await addCopies(run, chat);
  const watch = async (second: number) => {
    const { due, mayHaveMore } = await watchParents(runtime, at(second));
    return { channels: new Set(due.map(({ channelId }) => channelId)), mayHaveMore };
  };
  t.deepEqual(await watch(1), { channels: new Set(), mayHaveMore: false });
  await change('up', 2, [office]);
  const unread = await makeDecidedDue(run, { parents: [], nowMs: at(3), limit: 9 });
  t.deepEqual(
    unread,
    { channels: [], mayHaveMore: false },
    'a parent that was added since they were read may hold them',
  );
  t.deepEqual(await watch(3), { channels: new Set([other]), mayHaveMore: false });
  await change('up', 4, [router]);
  t.deepEqual(await watch(5), { channels: new Set([chat]), mayHaveMore: true });
  t.deepEqual(await watch(5), { channels: new Set([chat, both]), mayHaveMore: false });
  t.deepEqual(await watch(5), { channels: new Set(), mayHaveMore: false });
});

test('a thousand locked alerts delay no others, and the watch pauses until they are unlocked', async (t) => {
  const { runtime, run, change, add, addChannel, at } = await prepareParents(t);
  const router = await add('Router');
  const [shop, printer] = [await add('Shop', [[router, 'hold']]), await add('Printer', [[router, 'hold']])];
  const [chat, other] = [await addChannel('telegram', [shop.id]), await addChannel('telegram', [printer.id])];
  await change('down', 0, [shop, printer]);
  await addCopies(run, chat);
  await change('up', 1, [router]);
  const watch = async () => {
    const { due, mayHaveMore } = await watchParents(runtime, at(2));
    return { channels: new Set(due.map(({ channelId }) => channelId)), mayHaveMore };
  };
  await inTransaction(runtime.database, async (locking) => {
    await locking(`SELECT FROM deliveries WHERE id LIKE 'dlv_0000%' FOR NO KEY UPDATE`);
    t.deepEqual(await watch(), { channels: new Set([chat, other]), mayHaveMore: false });
    t.deepEqual(await watch(), { channels: new Set(), mayHaveMore: false });
  });
  t.deepEqual(await watch(), { channels: new Set([chat]), mayHaveMore: true });
  t.deepEqual(await watch(), { channels: new Set(), mayHaveMore: false });
});

test('an alert waits for the next check of a parent that has failed once', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router', [], { downAfterFailures: 2 });
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  t.deepEqual(await deliver(chat, 10), []);
  await change('down', 11, [router]);
  t.deepEqual(await deliver(chat, 11), ['Down: Router. And 1 behind it: Shop']);
});

test('failures behind a parent that is down are sent in one more message only', async (t) => {
  const { change, add, addChannel, deliver, outcomes } = await prepareParents(t);
  const router = await add('Router');
  const behind: Monitor[] = [];
  for (let no = 10; no < 40; no += 1) behind.push(await add(`Shop ${no}`, [[router, 'hold']]));
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 0), ['Down: Router']);
  await change('down', 5, behind.slice(0, 20));
  t.deepEqual(await deliver(chat, 6), []);
  await change('down', 10, behind.slice(20));
  t.deepEqual(await deliver(chat, 11), []);
  t.deepEqual(await deliver(chat, 41), [
    'Still down: Router. And 30 behind it: Shop 10, Shop 11, Shop 12, Shop 13, Shop 14 and 25 more',
  ]);
  t.deepEqual(await deliver(chat, 900), []);
  t.is((await outcomes(chat)).filter((text) => text.endsWith('superseded parent Router')).length, 30);
});

test('an update about monitors behind a parent is not merged into a summary with other due alerts', async (t) => {
  const { run, change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const mail = await add('Mail', [], { tags: ['patient'] });
  const chat = await addChannel('telegram');
  const rules = JSON.stringify([{ tags: ['patient'], after_seconds: 30 }, {}]);
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, rules]);
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 0), ['Down: Router']);
  await change('down', 5, [shop]);
  t.deepEqual(await deliver(chat, 6), []);
  await change('down', 7, [mail]);
  t.deepEqual(await deliver(chat, 41), ['Still down: Router. And 1 behind it: Shop', 'Down: Mail']);
});

test('after its parent recovers a monitor is alerted only if it fails on its own', async (t) => {
  const { change, add, addChannel, deliver, outcomes } = await prepareParents(t);
  const router = await add('Router');
  const [shop, blog] = [await add('Shop', [[router, 'hold']]), await add('Blog', [[router, 'hold']])];
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await change('down', 1, [shop, blog]);
  t.deepEqual(await deliver(chat, 1), ['Down: Router. And 2 behind it: Blog, Shop']);
  const { rechecks } = await change('up', 60, [router]);
  t.true(rechecks.some(({ monitorNo }) => monitorNo === shop.no));
  t.deepEqual(await deliver(chat, 60), ['Recovered: Router']);
  await change('up', 70, [blog]);
  t.deepEqual(await deliver(chat, 75), []);
  await change('down', 80, [shop]);
  t.deepEqual(await deliver(chat, 81), ['Down: Shop']);
  await change('up', 90, [shop]);
  t.deepEqual(await deliver(chat, 90), ['Recovered: Shop']);
  t.deepEqual(await deliver(chat, 2000), []);
  t.true((await outcomes(chat)).includes('Shop down delivered parent Router'));
});

for (const isChain of [true, false])
  test(`a failure during an outage of ${isChain ? 'the' : 'another'} parent does not count after it`, async (t) => {
    const { change, add, addChannel, deliver } = await prepareParents(t);
    const line = await add('Line');
    const router = await add('Router', isChain ? [[line, 'hold']] : []);
    const parents = isChain ? [router] : [line, router];
    const shop = await add(
      'Shop',
      parents.map((parent) => [parent, 'hold']),
    );
    const chat = await addChannel('telegram');
    await change('down', 0, [line]);
    await change('down', 1, [shop]);
    if (isChain) await change('down', 1, [router]);
    await deliver(chat, 2);
    if (!isChain) await change('down', 3, [router]);
    await change('up', 20, [line]);
    if (isChain) await deliver(chat, 21);
    // Nothing is delivered until the router is up again.
    await change('down', 25, [router, shop]);
    await change('up', 30, [router]);
    const titles = await deliver(chat, 31);
    t.false(titles.some((title) => title.endsWith('Down: Shop')));
    await change('down', 40, [shop]);
    t.deepEqual(await deliver(chat, 41), ['Down: Shop']);
  });

for (const [what, ruleOf] of [
  ['the channel does not have', null],
  ['quiet hours dropped', (hours: string) => ({ quiet: { timezone: 'UTC', hours: `Mo-Su ${hours}`, mode: 'drop' } })],
  ['would have been sent an hour later', () => ({ after_seconds: 3600, repeat_seconds: 600 })],
] as const)
  test(`an alert does not wait longer because of a parent whose alert ${what}`, async (t) => {
    const { change, add, addChannel, deliver, run, at } = await prepareParents(t);
    const [line, router] = [await add('Line'), await add('Router', [], { tags: ['network'] })];
    const shop = await add(
      'Shop',
      [line, router].map((parent) => [parent, 'hold']),
    );
    const chat = await addChannel('telegram', ruleOf === null ? [line.id, shop.id] : []);
    const hour = new Date(at(0)).getUTCHours();
    const rule = ruleOf?.(`${hour}:00-${(hour + 2) % 24}:00`);
    const rules = rule === undefined ? null : JSON.stringify([{ tags: ['network'], ...rule }, {}]);
    await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, rules]);
    await change('down', 0, [line]);
    await change('down', 1, [shop]);
    await deliver(chat, 2);
    await change('up', 20, [line]);
    await change('down', 25, [router, shop]);
    await change('up', 30, [router]);
    t.true((await deliver(chat, 31)).includes('Down: Shop'));
  });

test('outages of another parent that end before a message do not delay the alert of a heartbeat', async (t) => {
  const { runtime, change, add, addChannel, deliver, run, at } = await prepareParents(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const [line, router] = [await add('Line'), await add('Router')];
  const settings = { name: 'Backup', intervalSeconds: 3600, heartbeatGraceSeconds: 60 };
  const { monitor: backup } = await addHeartbeat(runtime, at(-3600), settings);
  const [source] = await run<{ no: number }>('SELECT agent_no AS no FROM monitor_sources WHERE monitor_no = $1', [
    backup.no,
  ]);
  await replaceParents(run, {
    tenantId,
    monitor: backup,
    parents: [line, router].map(({ id }) => ({ id, mode: 'hold' })),
  });
  const observe = async (verdict: Vote, second: number) => {
    const evaluate = createEvaluator({ database, now: () => at(second), newId, publicUrl });
    await evaluate([resultOf(backup, source ?? { no: 0 }, { dueAtMs: at(second) - 100, verdict })]);
  };
  await observe('up', -60);
  const chat = await addChannel('telegram');
  await change('down', 0, [line]);
  await observe('down', 5);
  await deliver(chat, 7);
  await change('up', 60, [line]);
  for (let second = 600; second <= 3000; second += 600) {
    await change('down', second, [router]);
    await change('up', second + 1, [router]);
    await deliver(chat, second + 1);
  }
  t.true((await deliver(chat, 60 + 3660)).some((title) => title.endsWith('Down: Backup')));
});

test('a parent that goes down again takes over alerts that waited for results of their own', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  await deliver(chat, 1);
  await change('up', 60, [router]);
  await change('down', 61, [router]);
  t.deepEqual(await deliver(chat, 61), ['Delayed: Recovered: Router', 'Down: Router. And 1 behind it: Shop']);
  await change('down', 80, [shop]);
  t.deepEqual(await deliver(chat, 100), []);
});

test('alerts of a chain of parents join the message of the root', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const line = await add('Line');
  const router = await add('Router', [[line, 'hold']]);
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [shop]);
  await change('down', 1, [router]);
  t.deepEqual(await deliver(chat, 1), []);
  await change('down', 2, [line]);
  t.deepEqual(await deliver(chat, 2), ['Down: Line. And 2 behind it: Router, Shop']);
});

for (const isJoinedLast of [true, false])
  test(`a monitor still down once its parent, not the root, recovers is alerted, joined ${
    isJoinedLast ? 'after' : 'with'
  } it`, async (t) => {
    const { change, add, addChannel, deliver } = await prepareParents(t);
    const line = await add('Line');
    const router = await add('Router', [[line, 'hold']]);
    const shop = await add('Shop', [[router, 'hold']]);
    const chat = await addChannel('telegram');
    if (isJoinedLast) {
      await change('down', 0, [line]);
      await change('down', 1, [router]);
      t.deepEqual(await deliver(chat, 2), ['Down: Line. And 1 behind it: Router']);
      await change('down', 3, [shop]);
      t.deepEqual(await deliver(chat, 4), []);
    } else {
      await change('down', 0, [shop]);
      await change('down', 1, [router]);
      t.deepEqual(await deliver(chat, 1), []);
      await change('down', 2, [line]);
      t.deepEqual(await deliver(chat, 2), ['Down: Line. And 2 behind it: Router, Shop']);
    }
    await change('up', 20, [router]);
    t.deepEqual(await deliver(chat, 21), []);
    await change('down', 25, [shop]);
    t.deepEqual(await deliver(chat, 26), ['Down: Shop']);
    await change('up', 30, [line]);
    t.deepEqual(await deliver(chat, 31), ['Recovered: Line']);
  });

test('a channel that does not get the parent gets the alerts behind it, with the possible cause', async (t) => {
  const { change, add, addChannel, deliver, run } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram', [shop.id]);
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  t.deepEqual(await deliver(chat, 2), ['Down: Shop']);
  const [row] = await run<{ reason: string }>(`SELECT message ->> 'reason' AS reason FROM deliveries`);
  t.regex(row?.reason ?? '', /Possible cause: Router is down$/);
});

test('if the message of the parent fails permanently, the alerts that were to join it are sent', async (t) => {
  const { change, add, addChannel, deliver, refused } = await prepareParents(t);
  const router = await add('Router');
  const [blog, shop] = [await add('Blog', [[router, 'hold']]), await add('Shop', [[router, 'hold']])];
  const chat = await addChannel('telegram');
  refused.add('Down: Router');
  await change('down', 0, [blog]);
  await change('down', 1, [router]);
  t.deepEqual([...(await deliver(chat, 1)), ...(await deliver(chat, 2))], ['Down: Blog']);
  await change('down', 5, [shop]);
  t.deepEqual(await deliver(chat, 6), ['Down: Shop']);
});

test('if quiet hours drop the alert of a parent, the alerts behind it follow their own rule', async (t) => {
  const { change, add, addChannel, deliver, run, at } = await prepareParents(t);
  const router = await add('Router', [], { tags: ['network'] });
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  const hour = new Date(at(0)).getUTCHours();
  const rules = [
    { tags: ['network'], quiet: { timezone: 'UTC', hours: `Mo-Su ${hour}:00-${(hour + 2) % 24}:00`, mode: 'drop' } },
    {},
  ];
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, JSON.stringify(rules)]);
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  t.deepEqual(await deliver(chat, 2), ['Down: Shop']);
});

test('an alert behind a parent that is sent in a delayed summary is sent separately', async (t) => {
  const { change, add, addChannel, deliver, run } = await prepareParents(t);
  const router = await add('Router', [], { tags: ['network'] });
  const other = await add('Other', [], { tags: ['network'] });
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  const rules = [{ tags: ['network'], after_seconds: 60 }, {}];
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, JSON.stringify(rules)]);
  await change('down', 0, [router, other]);
  await change('down', 1, [shop]);
  t.deepEqual(await deliver(chat, 2), []);
  const told = [...(await deliver(chat, 60)), ...(await deliver(chat, 61))];
  t.deepEqual(told.toSorted(), ['2 monitors: 2 down', 'Down: Shop']);
});

for (const isItsOwn of [true, false])
  test(`an acknowledged parent suppresses ${isItsOwn ? 'an escalation' : 'no other alert'} behind it`, async (t) => {
    const { change, add, addChannel, deliver, run } = await prepareParents(t);
    const router = await add('Router', [], { tags: ['network'] });
    const shop = await add('Shop', [[router, 'hold']]);
    const chat = await addChannel('telegram');
    const rule = { after_seconds: 60, unless_acknowledged: true };
    const rules = isItsOwn ? [rule] : [{ ...rule, tags: ['network'] }, {}];
    await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, JSON.stringify(rules)]);
    await change('down', 0, [router]);
    await change('down', 1, [shop]);
    t.deepEqual(await deliver(chat, 2), []);
    await run('UPDATE incidents SET acknowledged_at = 1 WHERE monitor_id = $1', [router.id]);
    t.deepEqual([...(await deliver(chat, 60)), ...(await deliver(chat, 62))], isItsOwn ? [] : ['Down: Shop']);
  });

test('webhooks get every alert at once, and an annotating parent is named but delays no alert', async (t) => {
  const { change, add, addChannel, deliver, posted } = await prepareParents(t);
  const router = await add('Router');
  const [shop, blog] = [await add('Shop', [[router, 'hold']]), await add('Blog', [[router, 'annotate']])];
  const [chat, webhook] = [await addChannel('telegram'), await addChannel('webhook')];
  await change('down', 0, [shop, blog]);
  await deliver(webhook, 0);
  t.deepEqual(
    posted.splice(0).map(({ message }) => ('monitor' in message ? message.monitor?.name : null)),
    ['Shop', 'Blog'],
  );
  t.deepEqual(await deliver(chat, 0), ['Down: Blog']);
  await change('up', 10, [shop, blog]);
  await change('down', 11, [router]);
  await change('down', 12, [shop, blog]);
  await deliver(webhook, 12);
  const behind = posted.flatMap(({ message }) =>
    message.event === 'monitor.down' && message.monitor.name !== 'Router' ? [message.detail.dependencies] : [],
  );
  t.deepEqual(behind, [
    [{ id: router.id, name: 'Router', state: 'down' }],
    [{ id: router.id, name: 'Router', state: 'down' }],
  ]);
  t.deepEqual((await deliver(chat, 12)).toSorted(), [
    'Delayed: Recovered: Blog',
    'Down: Blog',
    'Down: Router. And 1 behind it: Shop',
  ]);
});

for (const [what, end] of [
  ['deleted', deleteMonitor],
  ['paused', pauseMonitor],
] as const)
  test(`an alert that joined a parent that is ${what} waits for results of its own monitor`, async (t) => {
    const { runtime, change, add, addChannel, deliver, at } = await prepareParents(t);
    const router = await add('Router');
    const shop = await add('Shop', [[router, 'hold']]);
    const chat = await addChannel('telegram');
    await change('down', 0, [router]);
    await change('down', 1, [shop]);
    await deliver(chat, 1);
    await end(runtime.database, { tenantId: runtime.tenantId, id: router.id, nowMs: at(30), author: null });
    t.deepEqual(await deliver(chat, 40), []);
    await change('down', 61, [shop]);
    t.deepEqual(await deliver(chat, 61), ['Down: Shop']);
  });

test('a worker that is killed with claims loses neither the alert of the parent nor those behind it', async (t) => {
  const { runtime, change, add, addChannel, deliver, at, outcomes } = await prepareParents(t);
  const router = await add('Router');
  const behind = [await add('Blog', [[router, 'hold']]), await add('Shop', [[router, 'hold']])];
  const chat = await addChannel('telegram');
  await change('down', 0, behind);
  await change('down', 1, [router]);
  const claims = await claimDeliveries(runtime.database, [chat, chat, chat], { nowMs: at(1), claimMs: 10_000 });
  t.true(claims.some(({ claimed }) => claimed !== null));
  await deliver(chat, 2);
  t.deepEqual(
    [...(await deliver(chat, 12)), ...(await deliver(chat, 60))].filter((title) => !title.includes('Router')),
    [],
  );
  t.is((await outcomes(chat)).filter((text) => text.endsWith('superseded parent Router')).length, 2);
  t.true((await outcomes(chat)).includes('Router down delivered'));
});

test('a waiting alert is dropped if its monitor recovers', async (t) => {
  const { change, add, addChannel, deliver, outcomes } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [shop]);
  await change('up', 1, [shop]);
  t.deepEqual(await deliver(chat, 60), []);
  t.deepEqual(await outcomes(chat), ['Shop down superseded parent Router']);
});

test('many failures before their parent fails are no storm: the parent has a message of its own', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const behind: Monitor[] = [];
  for (let no = 10; no < 30; no += 1) behind.push(await add(`Shop ${no}`, [[router, 'hold']]));
  const chat = await addChannel('telegram');
  await change('down', 0, behind);
  await change('down', 1, [router]);
  t.deepEqual(await deliver(chat, 1), [
    'Down: Router. And 20 behind it: Shop 10, Shop 11, Shop 12, Shop 13, Shop 14 and 15 more',
  ]);
});

test('an alert does not join the alert of a parent that was dropped before', async (t) => {
  const { change, add, addChannel, deliver, run, at } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await run(`UPDATE deliveries SET outcome = 'superseded', finished_at = $2 WHERE monitor_id = $1`, [router.id, at(0)]);
  await change('down', 1, [shop]);
  t.deepEqual(await deliver(chat, 3), ['Down: Shop']);
});

test('a webhook that does not follow maintenance does not wait for parents, even with rules', async (t) => {
  const { change, add, addChannel, deliver, posted, run } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const webhook = await addChannel('webhook');
  const rules = [{ after_seconds: 10, repeat_seconds: 60, repeat_max: 1 }];
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [webhook, JSON.stringify(rules)]);
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  for (const second of [12, 100]) await deliver(webhook, second);
  t.deepEqual(
    posted.map(({ message }) => ('monitor' in message ? message.monitor?.name : null)),
    ['Router', 'Shop', 'Router', 'Shop'],
  );
});

test('an alert waiting when its parent recovers needs its own failure, even if it joined no message', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  // No alert is delivered while the router is down.
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  const { rechecks } = await change('up', 20, [router]);
  t.true(rechecks.some(({ monitorNo }) => monitorNo === shop.no));
  t.false((await deliver(chat, 22)).some((title) => title.endsWith('Down: Shop')));
  await change('down', 30, [shop]);
  t.deepEqual(await deliver(chat, 31), ['Down: Shop']);
});

test('an alert written concurrently with the recovery of its parent needs a failure of its own', async (t) => {
  const { change, add, addChannel, deliver, run } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  // The recovery commits first; each transaction sees the state before the other.
  await run('CREATE TABLE unseen AS SELECT * FROM parent_holds');
  await run('DELETE FROM parent_holds');
  await change('up', 2, [router]);
  await run('INSERT INTO parent_holds SELECT * FROM unseen');
  await run('UPDATE monitor_sources SET look_at = NULL');
  t.deepEqual(await deliver(chat, 10), ['Delayed: Down: Router', 'Recovered: Router']);
  const rechecked = await run('SELECT FROM monitor_sources WHERE monitor_no = $1 AND look_at IS NOT NULL', [shop.no]);
  t.is(rechecked.length, 1);
  await change('down', 20, [shop]);
  t.deepEqual(await deliver(chat, 21), ['Down: Shop']);
});

test('a monitor that goes silent while its parent recovers sends nothing when it is up again', async (t) => {
  const { change, add, addChannel, deliver, run } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 0), ['Down: Router']);
  for (const second of [2, 3, 4]) await change('none', second, [shop]);
  await run('CREATE TABLE unseen AS SELECT * FROM parent_holds');
  await run('DELETE FROM parent_holds');
  await change('up', 5, [router]);
  await run('INSERT INTO parent_holds SELECT * FROM unseen');
  t.deepEqual(await deliver(chat, 10), ['Recovered: Router']);
  await change('up', 20, [shop]);
  t.deepEqual(await deliver(chat, 21), []);
});

for (const isBefore of [true, false])
  test(`an alert waits if its parent recovers ${isBefore ? 'before' : 'while'} a worker decides`, async (t) => {
    const { runtime, change, add, addChannel, deliver, at, run } = await prepareParents(t);
    const { database, newId } = runtime;
    const router = await add('Router');
    const shop = await add('Shop', [[router, 'hold']]);
    const chat = await addChannel('telegram');
    await change('down', 0, [router]);
    t.deepEqual(await deliver(chat, 0), ['Down: Router']);
    await change('down', 1, [shop]);
    const [claim] = await claimDeliveries(database, [chat], { nowMs: at(10), claimMs: 10 * SECOND });
    const claimed = claim?.claimed;
    if (claimed?.monitorId !== shop.id) throw new Error('The alert of the shop is not the one that is claimed');
    const decide = () => decideByParents(claimed, { database, newId }, at(12));
    if (isBefore) {
      const { rechecks } = await change('up', 11, [router]);
      t.true(rechecks.some(({ monitorNo }) => monitorNo === shop.no));
      t.is((await decide()).outcome, 'waiting');
    } else {
      const deciding = await inTransaction(database, async (recovering) => {
        await recovering(`UPDATE monitors SET state = 'up' WHERE id = $1`, [router.id]);
        await awaitOwnResults(recovering, { parentIds: [router.id], wereDown: true }, at(11));
        const decision = decide();
        await until(async () => (await run(WAITING)).length);
        return { decision };
      });
      t.is((await deciding.decision).outcome, 'waiting');
    }
    t.false((await deliver(chat, 13)).includes('Down: Shop'));
    t.deepEqual(await run(`SELECT FROM deliveries WHERE monitor_id = $1 AND outcome <> 'pending'`, [shop.id]), []);
    await change('down', 20, [shop]);
    t.deepEqual(await deliver(chat, 21), ['Down: Shop']);
  });

test('if the recheck of the parent fails for the first time, the alert waits for the next check', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router', [], { downAfterFailures: 2 });
  const [shop, blog] = [await add('Shop', [[router, 'hold']]), await add('Blog', [[router, 'hold']])];
  const chat = await addChannel('telegram');
  await change('down', 0, [shop]);
  await change('down', 1, [router]);
  t.deepEqual(await deliver(chat, 8), []);
  await change('down', 21, [router]);
  t.deepEqual(await deliver(chat, 22), ['Down: Router. And 1 behind it: Shop']);
  await change('up', 60, [router, shop]);
  await deliver(chat, 60);
  // An alert never waits longer than a recheck and a timeout.
  await change('down', 120, [blog]);
  await change('down', 121, [router]);
  t.deepEqual(await deliver(chat, 128), []);
  t.deepEqual(await deliver(chat, 146), []);
  t.deepEqual(await deliver(chat, 148), ['Down: Blog']);
});

test('a monitor still unknown three intervals after the recovery of its parent is alerted', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']], { intervalSeconds: 60 });
  const chat = await addChannel('telegram');
  await change('down', 0, [router, shop]);
  t.deepEqual(await deliver(chat, 1), ['Down: Router. And 1 behind it: Shop']);
  for (const second of [2, 3, 4]) await change('none', second, [shop]);
  t.deepEqual(await deliver(chat, 5), []);
  await change('up', 80, [router]);
  t.deepEqual(await deliver(chat, 81), ['Recovered: Router']);
  t.deepEqual(await deliver(chat, 80 + 179), []);
  t.deepEqual(await deliver(chat, 80 + 180), ['Unknown: Shop']);
  t.deepEqual(await deliver(chat, 1000), []);
});

test('monitors that a failed message would have named are named in the next one', async (t) => {
  const { change, add, addChannel, deliver, refused, outcomes } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 0), ['Down: Router']);
  await change('down', 5, [shop]);
  t.deepEqual(await deliver(chat, 6), []);
  refused.add('Still down: Router');
  t.deepEqual(await deliver(chat, 40), []);
  refused.clear();
  t.deepEqual(await deliver(chat, 41), []);
  t.deepEqual(await deliver(chat, 101), ['Still down: Router. And 1 behind it: Shop']);
  t.deepEqual(await outcomes(chat), [
    'Router down delivered',
    'Shop down superseded parent Router',
    'Router down failed parent',
    'Router down delivered parent',
  ]);
});

test('an update that names no new monitors behind the parent is not sent', async (t) => {
  const { change, add, addChannel, deliver, receiver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const blog = await add('Blog', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  receiver.isAway = true;
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 0), []);
  receiver.isAway = false;
  await change('down', 2, [shop]);
  t.deepEqual(await deliver(chat, 3), []);
  t.deepEqual(await deliver(chat, 8), ['Down: Router. And 1 behind it: Shop']);
  t.deepEqual(await deliver(chat, 34), []);
  await change('down', 50, [blog]);
  t.deepEqual(await deliver(chat, 51), []);
  t.deepEqual(await deliver(chat, 200), ['Still down: Router. And 2 behind it: Blog, Shop']);
});

for (const name of ['delay', 'quiet hours'] as const)
  test(`an urgent alert does not wait for the ${name} of its parent`, async (t) => {
    const { change, add, addChannel, deliver, run, at } = await prepareParents(t);
    const hour = (later: number) => new Date(at(later * 3600)).toISOString().slice(11, 13);
    const quiet = { timezone: 'UTC', hours: `Mo-Su ${hour(0)}:00-${hour(3)}:00`, mode: 'defer' };
    const later = name === 'delay' ? { after_seconds: 3600 } : { quiet };
    const router = await add('Router');
    const shop = await add('Shop', [[router, 'hold']], { tags: ['critical'] });
    const blog = await add('Blog', [[router, 'hold']]);
    const chat = await addChannel('telegram');
    const rules = JSON.stringify([{ tags: ['critical'] }, later]);
    await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, rules]);
    await change('down', 0, [router]);
    await change('down', 1, [shop, blog]);
    t.deepEqual(await deliver(chat, 2), ['Down: Shop']);
    t.deepEqual(await deliver(chat, 60), []);
    if (name !== 'delay') {
      t.deepEqual(await deliver(chat, 3600), []);
      return;
    }
    t.deepEqual(await deliver(chat, 3601), ['Down: Router']);
    t.deepEqual(await deliver(chat, 3632), ['Still down: Router. And 1 behind it: Blog']);
  });

test('an alert that joined its parent is sent even a month later, if its monitor fails on its own', async (t) => {
  const { change, add, addChannel, deliver, runtime, at } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router, shop]);
  t.deepEqual(await deliver(chat, 1), ['Down: Router. And 1 behind it: Shop']);
  const monthLater = 31 * 86_400;
  // The router's message is deleted; the alert that may still be sent is kept.
  t.is(await deleteOldDeliveries(runtime.database, at(monthLater)), 1);
  await pauseMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: router.id,
    nowMs: at(monthLater),
    author: null,
  });
  await change('down', monthLater + 10, [shop]);
  t.deepEqual(await deliver(chat, monthLater + 11), ['Down: Shop']);
});

test('monitors behind a parent are rechecked soon after it is paused, deleted or no longer a parent', async (t) => {
  const { change, add, addChannel, deliver, runtime, at, run } = await prepareParents(t);
  const { database, tenantId } = runtime;
  const parents = [await add('Paused'), await add('Deleted'), await add('Left')] as const;
  const [paused, deleted] = parents;
  const behind = [];
  for (const parent of parents) behind.push(await add(`Behind ${parent.name}`, [[parent, 'hold']]));
  const chat = await addChannel('telegram');
  await change('down', 0, [...parents, ...behind]);
  t.is((await deliver(chat, 1)).length, 3);
  const key = { tenantId, nowMs: at(20), author: null };
  const pausing = await pauseMonitor(database, { ...key, id: paused.id });
  const deleting = await deleteMonitor(database, { ...key, id: deleted.id });
  const leaving = await changeMonitor(database, { tenantId, nowMs: at(20), id: behind[2]!.id }, (current) => ({
    ...current,
    settings: current.monitor,
    parents: [],
  }));
  t.deepEqual(
    [pausing?.schedule, deleting, leaving?.schedule].map((schedule) => schedule?.dependents?.map(({ atMs }) => atMs)),
    [[at(20) + 20], [at(20) + 20], [at(20) + 20]],
  );
  const rows = await run<{ at: number }>(
    'SELECT look_at AS at FROM monitor_sources WHERE monitor_no = ANY ($1::int[]) ORDER BY monitor_no',
    [behind.map(({ no }) => no)],
  );
  t.deepEqual(rows, [{ at: at(20) + 20 }, { at: at(20) + 20 }, { at: at(20) + 20 }]);
});

for (const isParentFirst of [true, false])
  test(`a monitor without its parent is alerted with those behind it (parent first: ${isParentFirst})`, async (t) => {
    const { change, add, addChannel, deliver, runtime, at } = await prepareParents(t);
    const line = await add('Line');
    const router = await add('Router', [[line, 'hold']]);
    const shop = await add('Shop', [[router, 'hold']]);
    const chat = await addChannel('telegram');
    const sent: string[] = [];
    for (const [index, monitor] of (isParentFirst ? [line, router, shop] : [router, shop, line]).entries()) {
      await change('down', index, [monitor]);
      sent.push(...(await deliver(chat, index + 0.9)));
    }
    sent.push(...(await deliver(chat, 60)));
    t.regex(sent.at(-1) ?? '', /own: Line. And 2 behind it: Router, Shop$/);
    await changeMonitor(runtime.database, { tenantId: runtime.tenantId, nowMs: at(90), id: router.id }, (current) => ({
      ...current,
      settings: current.monitor,
      parents: [],
    }));
    await change('down', 100, [router, shop]);
    await change('up', 101, [line]);
    // Lane order decides whether it joins the router's message or follows soon after.
    const later = [...(await deliver(chat, 104)), ...(await deliver(chat, 140))];
    t.regex(later.at(-1) ?? '', /own: Router. And 1 behind it: Shop$/);
  });

test('alerts with the same rule as their parent join its message, even if it goes down later', async (t) => {
  const { change, add, addChannel, deliver, run } = await prepareParents(t);
  const router = await add('Router');
  const shops = [];
  for (const name of ['Blog', 'Docs', 'Shop']) shops.push(await add(name, [[router, 'hold']]));
  const chat = await addChannel('telegram');
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, JSON.stringify([{ after_seconds: 600 }])]);
  await change('down', 0, shops);
  await change('down', 90, [router]);
  t.deepEqual(await deliver(chat, 600), []);
  t.deepEqual(await deliver(chat, 690), ['Down: Router. And 3 behind it: Blog, Docs, Shop']);
});

test('many alerts that do not wait for the delay of their parent are sent in one summary', async (t) => {
  const { change, add, addChannel, deliver, run } = await prepareParents(t);
  const router = await add('Router');
  const shops = [];
  for (let index = 0; index < 12; index += 1)
    shops.push(await add(`Shop ${index}`, [[router, 'hold']], { tags: ['critical'] }));
  const chat = await addChannel('telegram');
  const rules = JSON.stringify([{ tags: ['critical'] }, { after_seconds: 3600 }]);
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, rules]);
  await change('down', 0, [router]);
  await change('down', 1, shops);
  t.deepEqual(await deliver(chat, 2), ['12 monitors: 12 down']);
});

test('a snoozed parent holds the alerts behind it', async (t) => {
  const { change, add, addChannel, deliver, run, at } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, JSON.stringify([{ after_seconds: 600 }])]);
  await change('down', 0, [router]);
  await change('down', 1, [shop]);
  await run(
    `WITH put_off AS (UPDATE held_deliveries h SET reason = 'snooze' FROM deliveries d
       WHERE d.id = h.delivery_id AND d.monitor_id = $1)
     UPDATE deliveries SET next_attempt_at = $2 WHERE monitor_id = $1`,
    [router.id, at(14_400)],
  );
  t.deepEqual(await deliver(chat, 602), []);
  t.deepEqual(await deliver(chat, 14_400), ['Down: Router. And 1 behind it: Shop']);
});

test('a monitor made unknown by our own overload after its parent recovers has not failed on its own', async (t) => {
  const { change, add, addChannel, deliver, run, at, runtime } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']], { intervalSeconds: 60 });
  const chat = await addChannel('telegram');
  await change('down', 0, [router, shop]);
  t.is((await deliver(chat, 1)).length, 1);
  await change('up', 60, [router]);
  t.deepEqual(await deliver(chat, 61), ['Recovered: Router']);
  await run(
    `WITH stopped AS (
       UPDATE monitors SET state = 'unknown', state_since = $2, sequence = sequence + 1 WHERE no = $1 RETURNING *
     ), changed AS (
       INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
       SELECT id, sequence, tenant_id, 'down', 'unknown', $2, $2, '{}' FROM stopped
     )
     INSERT INTO unchecked_times (monitor_id, sequence, monitor_no, tenant_id, from_state, started_at)
     SELECT id, sequence, no, tenant_id, 'down', $2 FROM stopped`,
    [shop.no, at(70)],
  );
  for (const second of [262, 400, 900]) t.deepEqual(await deliver(chat, second), []);
  t.deepEqual(await watchParents(runtime, at(901)), { due: [], mayHaveMore: false });
});

test('a heartbeat that reports a failure soon after its parent recovered is alerted at once', async (t) => {
  const { runtime, change, add, addChannel, deliver, run, at } = await prepareParents(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const router = await add('Router');
  const settings = { intervalSeconds: 86_400, heartbeatGraceSeconds: 3600, name: 'Backup' };
  const { monitor: backup } = await addHeartbeat(runtime, at(-3600), settings);
  const [source] = await run<{ no: number }>('SELECT agent_no AS no FROM monitor_sources WHERE monitor_no = $1', [
    backup.no,
  ]);
  if (source === undefined) throw new Error('A heartbeat has a source');
  t.deepEqual(await replaceParents(run, { tenantId, monitor: backup, parents: [{ id: router.id, mode: 'hold' }] }), []);
  const ping = async (verdict: Vote, second: number) => {
    const evaluate = createEvaluator({ database, now: () => at(second), newId, publicUrl });
    return await evaluate([resultOf(backup, source, { dueAtMs: at(second) - 100, verdict })]);
  };
  await ping('up', -60);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 1), ['Down: Router']);
  await change('up', 30, [router]);
  t.deepEqual(await deliver(chat, 31), ['Recovered: Router']);
  await ping('down', 50);
  t.is((await run('SELECT FROM parent_holds WHERE NOT awaits_own')).length, 1, 'it waits for a check of its parent');
  await change('up', 51, [router]);
  t.deepEqual(await deliver(chat, 52), ['Down: Backup']);
});

/** Prepares a heartbeat with a run each minute and a grace of ten that came in the message of its parent. */
async function missBehindParent(t: ExecutionContext) {
  const prepared = await prepareParents(t);
  const { runtime, change, add, addChannel, deliver, run, at } = prepared;
  const { database, tenantId, newId, publicUrl } = runtime;
  const router = await add('Router');
  const schedule = { cron: '* * * * *', timezone: 'UTC', early_seconds: 30 };
  const { monitor: backup } = await addHeartbeat(runtime, at(-3600), {
    name: 'Backup',
    intervalSeconds: 86_400,
    heartbeatGraceSeconds: 600,
    heartbeat: { schedule },
  });
  const [source] = await run<{ no: number }>('SELECT agent_no AS no FROM monitor_sources WHERE monitor_no = $1', [
    backup.no,
  ]);
  await replaceParents(run, { tenantId, monitor: backup, parents: [{ id: router.id, mode: 'hold' }] });
  const observe = async (verdict: Vote, second: number) => {
    const evaluate = createEvaluator({ database, now: () => at(second), newId, publicUrl });
    await evaluate([resultOf(backup, source ?? { no: 0 }, { dueAtMs: at(second) - 100, verdict })]);
  };
  await observe('up', -60);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await observe('down', 5);
  await deliver(chat, 7);
  await change('up', 60, [router]);
  t.deepEqual(await deliver(chat, 61), ['Recovered: Router']);
  return { ...prepared, router, chat };
}

test('a heartbeat with a schedule is alerted once it misses a run after its parent recovered', async (t) => {
  const { deliver, chat } = await missBehindParent(t);
  // The next run is at 120.
  for (const second of [361, 719]) t.deepEqual(await deliver(chat, second), []);
  t.deepEqual(await deliver(chat, 1020), ['Down: Backup']);
});

test('a run that a heartbeat misses in a second outage of its parent is not its own failure', async (t) => {
  const { change, deliver, router, chat } = await missBehindParent(t);
  await change('down', 300, [router]);
  t.deepEqual(await deliver(chat, 301), ['Down: Router. And 1 behind it: Backup']);
  t.deepEqual(await deliver(chat, 361), []);
  await change('up', 900, [router]);
  t.deepEqual(await deliver(chat, 901), ['Recovered: Router']);
  // The next run is at 960.
  for (const second of [1201, 1502, 1559]) t.deepEqual(await deliver(chat, second), []);
  t.deepEqual(await deliver(chat, 1803), ['Down: Backup']);
});

test('after a downtime a reminder and an update about monitors behind do not block each other', async (t) => {
  const { run, change, add, addChannel, deliver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const mail = await add('Mail', [], { tags: ['patient'] });
  const chat = await addChannel('telegram');
  const rules = [
    { tags: ['patient'], after_seconds: 60 },
    { repeat_seconds: 60, repeat_max: 1 },
  ];
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, JSON.stringify(rules)]);
  await change('down', 0, [router]);
  t.deepEqual(await deliver(chat, 0), ['Down: Router']);
  await change('down', 5, [shop]);
  t.deepEqual(await deliver(chat, 6), []);
  await change('down', 10, [mail]);
  t.deepEqual(await deliver(chat, 80), ['Still down: Router. And 1 behind it: Shop', '2 monitors: 2 down']);
});

test('a failure behind a monitor is sent in one more message, even if its root went down meanwhile', async (t) => {
  const { change, add, addChannel, deliver } = await prepareParents(t);
  const line = await add('Line');
  const router = await add('Router', [[line, 'hold']]);
  const shop = await add('Shop', [[router, 'hold']]);
  const chat = await addChannel('telegram');
  await change('down', 0, [router]);
  await change('up', 1, [line]);
  t.deepEqual(await deliver(chat, 2), ['Down: Router']);
  await change('down', 60, [line]);
  t.deepEqual(await deliver(chat, 61), ['Down: Line']);
  await change('down', 70, [shop]);
  t.deepEqual(await deliver(chat, 71), []);
  t.deepEqual(await deliver(chat, 102), ['Still down: Router. And 1 behind it: Shop']);
});

test('an alert held by a mute does not replace one that waits for a parent', async (t) => {
  const { runtime, at, change, add, addChannel, deliver, outcomes } = await prepareParents(t);
  const gateway = await add('Gateway');
  const shop = await add('Shop', [[gateway, 'hold']]);
  const chat = await addChannel('telegram');
  await change('degraded', 0, [shop]);
  const key = { tenantId: runtime.tenantId, id: shop.id, author: null };
  await muteMonitor(runtime.database, key, { untilMs: at(400), nowMs: at(1) });
  await change('down', 2, [shop]);
  t.deepEqual(await outcomes(chat), ['Shop degraded pending parent Gateway', 'Shop down pending mute']);
  await change('up', 3, [gateway]);
  for (const second of [3, 30, 90, 399]) t.deepEqual(await deliver(chat, second), []);
  t.deepEqual(await deliver(chat, 400), ['Down: Shop']);
  await change('up', 500, [shop]);
  t.deepEqual(await deliver(chat, 500), ['Recovered: Shop']);
});
