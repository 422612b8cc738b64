import test, { type ExecutionContext } from 'ava';
import { reopenDelivery } from '../../../models/alerts/delivery-record.ts';
import { pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { createDeliverer, DELIVERED } from './create-deliverer.ts';
import { START_MS, prepareGroups } from './prepare-groups.ts';
import { prepareParents } from './prepare-parents.ts';

test('the first alert is sent at once; later ones edit the chat message, or follow in email summaries', async (t) => {
  const { monitors, change, deliver, titlesIn, telegram, emails, calls } = await prepareGroups(t, 30);
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  t.deepEqual(titlesIn(-100), ['🔴 <b>Down: Shop 0</b>']);
  for (let second = 1; second < 15; second += 1) {
    await change('down', second, { of: monitors.slice(second * 2 - 1, second * 2 + 1) });
    await deliver(second);
  }
  for (let second = 15; second < 60; second += 1) await deliver(second);
  t.deepEqual(titlesIn(-100), ['🔴 <b>29 monitors: 29 down</b>']);
  t.true(telegram.shownIn(-100)[0]?.includes('Timed out'));
  t.is(calls('sendMessage'), 1);
  t.true(calls('editMessageText') <= 4, String(calls('editMessageText')));
  t.deepEqual(
    emails.map(({ title }) => title),
    ['Down: Shop 0', '21 monitors: 21 down', '29 monitors: 29 down'],
  );
});

test('a grouping webhook gets the first event, then a summary that lists each later one', async (t) => {
  const { runtime, monitors, change, deliver, posted } = await prepareGroups(t, 6, { webhookSeconds: 10 });
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(1, 4) });
  await change('up', 2, { of: monitors.slice(3, 4) });
  for (let second = 2; second < 12; second += 1) await deliver(second);
  t.deepEqual(
    posted.map(({ event, state, reason }) => [event, state, reason]),
    [
      ['monitor.down', 'down', posted[0]?.reason],
      ['summary', 'down', '3 monitors: 2 down, 1 up'],
    ],
  );
  const [, summary] = posted;
  t.deepEqual(
    summary?.event === 'summary' ? summary.detail.changes.map(({ monitor, state }) => [monitor.name, state]) : [],
    [
      ['Shop 1', 'down'],
      ['Shop 2', 'down'],
      ['Shop 3', 'up'],
    ],
  );
  const { rows } = await runtime.database.pool.query<{ id: string; monitors: number }>(
    `SELECT id, (message ->> 'monitors')::integer AS monitors FROM deliveries d
     WHERE event = 'summary' AND EXISTS (SELECT FROM channels c WHERE c.id = d.channel_id AND c.type = 'webhook')`,
  );
  t.is(rows[0]?.monitors, 3, 'the delivery record has the number of monitors');
  const key = { tenantId: runtime.tenantId, id: rows[0]?.id ?? '', author: null };
  await reopenDelivery(runtime.database, key, START_MS + 60_000);
  await deliver(60);
  t.deepEqual(posted[2], summary, 'a redelivery is identical');
});

test('a failure with a different cause is sent separately and at once', async (t) => {
  const { monitors, change, deliver, titlesIn } = await prepareGroups(t, 4);
  await change('down', 0, { of: monitors.slice(0, 3) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(3), cause: 'status_500' });
  await deliver(1);
  t.deepEqual(titlesIn(-100), ['🔴 <b>3 monitors: 3 down</b>', '🔴 <b>Down: Shop 3</b>']);
});

test('a failure and a recovery before the chat is notified are reported in the same message', async (t) => {
  const { monitors, change, deliver, titlesIn } = await prepareGroups(t, 3);
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(1) });
  await change('up', 2, { of: monitors.slice(2) });
  for (let second = 2; second < 10; second += 1) await deliver(second);
  t.deepEqual(titlesIn(-100), ['🔴 <b>3 monitors: 2 down, 1 recovered</b>']);
  await change('up', 20);
  await deliver(20);
  t.deepEqual(titlesIn(-100), ['🔴 <b>3 monitors: 2 down, 1 recovered</b>', '🟢 <b>2 monitors: 2 recovered</b>']);
});

test('a deleted message is sent again, and one that failed is replaced by the next', async (t) => {
  const { monitors, change, deliver, titlesIn, telegram } = await prepareGroups(t, 4);
  telegram.refusals.push({ error_code: 500, description: 'Internal Server Error' });
  await change('down', 0, { of: monitors.slice(0, 1) });
  await deliver(0);
  await change('down', 1, { of: monitors.slice(1, 2) });
  for (let second = 1; second < 12; second += 1) await deliver(second);
  t.true(titlesIn(-100).includes('🔴 <b>2 monitors: 2 down</b>'), titlesIn(-100).join(', '));
  telegram.clear(-100);
  await change('down', 8, { of: monitors.slice(2) });
  for (let second = 12; second < 30; second += 1) await deliver(second);
  t.deepEqual(titlesIn(-100), ['🔴 <b>4 monitors: 4 down</b>']);
});

/** Sets up two monitors that are down and whose alerts a grouping chat got; a router holds those of the first. */
async function prepareBothDown(t: ExecutionContext) {
  const prepared = await prepareParents(t);
  const { run, change, add, addChannel, deliver } = prepared;
  const router = await add('Router');
  const [shop, blog] = [await add('Shop', [[router, 'hold']]), await add('Blog')];
  const chat = await addChannel('telegram');
  await run('UPDATE channels SET group_seconds = 10 WHERE id = $1', [chat]);
  await change('down', 0, [shop, blog]);
  await change('up', 0.5, [router]);
  t.deepEqual([...(await deliver(chat, 1)), ...(await deliver(chat, 60))].toSorted(), ['Down: Blog', 'Down: Shop']);
  return { ...prepared, router, shop, blog, chat };
}

test('a group reports a recovery even if its monitor is paused before the message is sent', async (t) => {
  const { runtime, at, change, deliver, shop, blog, chat } = await prepareBothDown(t);
  const { database, tenantId } = runtime;
  await change('up', 600, [shop, blog]);
  await pauseMonitor(database, { tenantId, id: shop.id, nowMs: at(600.1), author: null });
  t.deepEqual(await deliver(chat, 601), ['2 monitors: 2 recovered']);
  await resumeMonitor(database, { tenantId, id: shop.id, nowMs: at(700), author: null });
  await change('up', 701, [shop]);
  t.deepEqual(await deliver(chat, 702), []);
});

test('a group reports an outage even if our own overload makes its monitor unknown before', async (t) => {
  const { run, at, change, add, addChannel, deliver } = await prepareParents(t);
  const [shop, blog] = [await add('Shop'), await add('Blog')];
  const chat = await addChannel('telegram');
  await run('UPDATE channels SET group_seconds = 10 WHERE id = $1', [chat]);
  await change('down', 0, [shop, blog]);
  // The sweep makes the same change.
  await run(
    `WITH stopped AS (
       UPDATE monitors SET state = 'unknown', state_since = $2, sequence = sequence + 1 WHERE no = $1 RETURNING *
     ), changed AS (
       INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
       SELECT id, sequence, tenant_id, 'down', 'unknown', $2, $2, '{}' FROM stopped
     )
     INSERT INTO unchecked_times (monitor_id, sequence, monitor_no, tenant_id, from_state, started_at)
     SELECT id, sequence, no, tenant_id, 'down', $2 FROM stopped`,
    [shop.no, at(0.5)],
  );
  t.deepEqual(await deliver(chat, 1), ['2 monitors: 2 down']);
});

for (const { when, recoversAt, sentAt } of [
  { when: 'before', recoversAt: 600.5, sentAt: 601 },
  { when: 'after', recoversAt: 603, sentAt: 601 },
])
  test(`a group reports a recovery if a new outage is held and ends ${when} the message is sent`, async (t) => {
    const { change, deliver, shop, blog, chat } = await prepareBothDown(t);
    await change('up', 600, [shop, blog]);
    await change('down', 600.2, [shop]);
    const sent = when === 'after' ? await deliver(chat, sentAt) : [];
    await change('up', recoversAt, [shop]);
    sent.push(...(await deliver(chat, 604)), ...(await deliver(chat, 700)));
    t.deepEqual(sent, ['2 monitors: 2 recovered']);
  });

test('a group reports a recovery if the rules of its channel exclude the new degradation', async (t) => {
  const { run, change, deliver, shop, blog, chat } = await prepareBothDown(t);
  const rules = JSON.stringify([{ events: ['monitor.down', 'monitor.up'] }]);
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [chat, rules]);
  await change('up', 600, [shop, blog]);
  await change('degraded', 600.2, [shop]);
  t.deepEqual(await deliver(chat, 601), ['2 monitors: 2 recovered']);
});

for (const others of [0, 1])
  test(`a retry omits a recovery if a new outage was sent, alone or in a group: ${others} more`, async (t) => {
    const { change, deliver, add, receiver, shop, blog, chat } = await prepareBothDown(t);
    const more = others === 0 ? [] : [await add('Wiki')];
    await change('up', 600, [shop, blog]);
    receiver.isAway = true;
    t.deepEqual(await deliver(chat, 601), []);
    await change('down', 602, [blog, ...more]);
    receiver.isAway = false;
    t.deepEqual(await deliver(chat, 603), [others === 0 ? 'Down: Blog' : '2 monitors: 2 down']);
    t.deepEqual(await deliver(chat, 660), ['1 monitor: 1 recovered']);
  });

/** Sets up two monitors and an email channel, with a worker that attempts one delivery at a time. */
async function prepareEmail(t: ExecutionContext) {
  const { runtime, monitors, change, emails, emailId } = await prepareGroups(t, 2, { chatIds: [] });
  const { database, newId, publicUrl } = runtime;
  const clock = { second: 0 };
  const refused = { count: 0 };
  const worker = createDeliverer({
    database,
    newId,
    publicUrl,
    sendEmail: ({ message }) => {
      refused.count -= 1;
      if (refused.count >= 0)
        return Promise.resolve({ ...DELIVERED, outcome: 'retry', statusCode: null, error: 'The server is busy' });
      emails.push(message);
      return Promise.resolve(DELIVERED);
    },
    now: () => START_MS + clock.second * 1000,
  });
  const claim = async () => (await worker.claim(emailId)).claimed;
  const deliver = async (second: number) => {
    clock.second = second;
    for (let claimed = await claim(); claimed !== null; claimed = await claim()) await worker.attempt(claimed);
  };
  const titles = () => emails.map(({ title }) => title);
  return {
    shop: monitors.slice(0, 1),
    other: monitors.slice(1),
    change,
    clock,
    refused,
    worker,
    claim,
    deliver,
    titles,
  };
}

test('an alert released by a stalled worker is not sent after a summary that reports its recovery', async (t) => {
  const { shop, other, change, clock, worker, claim, deliver, titles } = await prepareEmail(t);
  await change('down', 0, { of: shop });
  const claimed = await claim();
  if (claimed === null) throw new Error('There is an alert to claim');
  await change('down', 1, { of: other, cause: 'http' });
  await deliver(1);
  await change('up', 5);
  await deliver(6);
  clock.second = 400;
  t.is(await worker.attempt(claimed), 'skipped');
  await deliver(401);
  t.deepEqual(titles(), ['Down: Shop 1', '2 monitors: 2 recovered']);
});

test("an alert queued behind a killed worker's claim is not sent after a summary reports its recovery", async (t) => {
  const { shop, other, change, clock, claim, deliver, titles } = await prepareEmail(t);
  await change('down', 0, { of: shop });
  await deliver(0);
  await change('up', 20, { of: shop });
  clock.second = 20;
  t.not(await claim(), null, 'the worker that claims the recovery is killed');
  await change('down', 22, { of: shop, cause: 'http' });
  await deliver(22);
  await change('down', 23, { of: other, cause: 'http' });
  await deliver(23);
  await change('up', 24);
  for (const second of [24, 28, 34, 200, 400, 600]) await deliver(second);
  t.deepEqual(
    titles().filter((title) => /Down: Shop 0/.test(title)),
    ['Down: Shop 0'],
  );
});

test('a recovery queued behind a released alert is not sent after a summary of a later recovery', async (t) => {
  const { shop, change, clock, worker, claim, deliver, titles } = await prepareEmail(t);
  await change('down', 0, { of: shop });
  const claimed = await claim();
  if (claimed === null) throw new Error('There is an alert to claim');
  await change('up', 3, { of: shop });
  await change('down', 5, { cause: 'http' });
  await change('up', 6);
  for (const second of [6, 20]) await deliver(second);
  const before = titles();
  clock.second = 400;
  t.is(await worker.attempt(claimed), 'skipped');
  for (const second of [401, 500]) await deliver(second);
  t.deepEqual(titles(), before);
});

test('a released alert is sent if the summary omitted its recovery', async (t) => {
  const { shop, other, change, clock, refused, worker, claim, deliver, titles } = await prepareEmail(t);
  await change('down', 0, { of: shop });
  const claimed = await claim();
  if (claimed === null) throw new Error('There is an alert to claim');
  await change('down', 1, { of: other, cause: 'http' });
  await deliver(1);
  await change('up', 5);
  refused.count = 1;
  await deliver(6);
  await change('down', 7, { of: shop, cause: 'dns' });
  for (const second of [8, 20]) await deliver(second);
  clock.second = 400;
  t.is(await worker.attempt(claimed), 'skipped');
  for (const second of [401, 500]) await deliver(second);
  t.true(titles().includes('1 monitor: 1 recovered'), titles().join(', '));
  t.true(titles().includes('Delayed: Down: Shop 0'), titles().join(', '));
});
