import test, { type ExecutionContext } from 'ava';
import { claimDeliveries, recordAttempts } from '../../../models/alerts/delivery-attempts.ts';
import { releaseHeld } from '../../../models/alerts/held-deliveries.ts';
import { inTransaction } from '../../../models/sql.ts';
import { HeldAlerts } from '../../../workers/alerts/gather-held.ts';
import { decideByParents, watchParents } from '../../../workers/alerts/join-parents.ts';
import { WAITING } from '../../helpers/database.ts';
import { until } from '../../helpers/until.ts';
import { DELIVERED } from './create-deliverer.ts';
import { SECOND, prepareParents } from './prepare-parents.ts';

const CLAIM_MS = 10 * SECOND;

/** Sets up a shop that fails behind a router that is down; a worker holds its alert from second 90 to 100. */
async function prepareInHand(t: ExecutionContext, type: 'telegram' | 'webhook' = 'telegram') {
  const prepared = await prepareParents(t);
  const { runtime, run, change, add, addChannel, deliver, at } = prepared;
  const { database, newId, publicUrl } = runtime;
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const channel = await addChannel(type);
  await run(`UPDATE channels SET follows_maintenance = true WHERE id = $1 AND type = 'webhook'`, [channel]);
  await change('down', 0, [router]);
  await deliver(channel, 0);
  await change('down', 1, [shop]);
  await watchParents(runtime, at(90));
  const claim = async (second: number) => {
    const [{ claimed } = { claimed: null }] = await claimDeliveries(database, [channel], {
      nowMs: at(second),
      claimMs: CLAIM_MS,
    });
    return claimed;
  };
  const claimed = await claim(90);
  if (claimed?.monitorId !== shop.id) throw new Error('The alert of the shop is not the one that is claimed');
  const decide = (second: number, of = claimed) => decideByParents(of, { database, newId }, at(second));
  const release = (second: number) =>
    new HeldAlerts({ database, newId, publicUrl, now: () => at(second) }).release(claimed);
  return { ...prepared, router, shop, channel, claimed, claim, decide, release };
}

for (const becomes of ['joined', 'dropped', 'sent'] as const)
  test(`a recovery waits for the outcome of the alert that a worker has claimed: ${becomes}`, async (t) => {
    const { runtime, run, change, shop, channel, claimed, claim, decide, release, deliver, at } =
      await prepareInHand(t);
    await change('up', 91, [shop]);
    t.is(await claim(91), null);
    if (becomes === 'joined') t.is((await decide(92)).outcome, 'joined');
    else if (becomes === 'dropped') t.false((await release(92)).isSent);
    else {
      t.deepEqual(await releaseHeld(run, [claimed], at(92)), [true]);
      const made = { ...DELIVERED, ...claimed, finishedAtMs: at(92), nextAttemptAtMs: null };
      t.deepEqual(await recordAttempts(runtime.database, [made]), [true]);
    }
    t.deepEqual(await deliver(channel, 93), becomes === 'sent' ? ['Recovered: Shop'] : []);
    t.deepEqual(await deliver(channel, 1000), []);
  });

test('if the worker is killed, the next one drops both the alert and its recovery', async (t) => {
  const { change, shop, channel, deliver, outcomes } = await prepareInHand(t);
  await change('up', 91, [shop]);
  t.deepEqual(await deliver(channel, 101), []);
  t.deepEqual((await outcomes(channel)).slice(1), ['Shop down superseded parent Router', 'Shop up superseded']);
});

test('if the worker that is dropping a recovery is killed, the next one drops it', async (t) => {
  const { run, change, shop, channel, decide, deliver, at } = await prepareInHand(t);
  await change('up', 91, [shop]);
  t.is((await decide(92)).outcome, 'joined');
  await run(
    `UPDATE deliveries SET attempts = 1, claimed_until = $2 WHERE channel_id = $1 AND event = 'monitor.up'
       AND outcome = 'pending'`,
    [channel, at(93)],
  );
  t.deepEqual(await deliver(channel, 100), []);
});

test('a worker whose claim expired does not send an alert that was dropped with its recovery', async (t) => {
  const { change, shop, channel, release, deliver, posted } = await prepareInHand(t, 'webhook');
  await change('up', 91, [shop]);
  await deliver(channel, 101);
  t.false((await release(102)).isSent);
  t.deepEqual(
    posted.map(({ message }) => message.event),
    ['monitor.down'],
  );
});

test('a worker whose claim expired does not send an alert that another worker joined to a parent', async (t) => {
  const { change, shop, channel, claimed, claim, decide, release, deliver } = await prepareInHand(t);
  const again = await claim(101);
  if (again?.deliveryId !== claimed.deliveryId) throw new Error('The alert was not claimed again');
  await change('up', 101.5, [shop]);
  t.is((await decide(102, { ...claimed, attempt: again.attempt })).outcome, 'joined');
  t.deepEqual(await deliver(channel, 103), []);
  t.false((await release(104)).isSent);
});

test('an alert is dropped if its monitor and parent recover while a worker waits for their lock', async (t) => {
  const { runtime, run, router, shop, release, at } = await prepareInHand(t);
  const { decision } = await inTransaction(runtime.database, async (recovering) => {
    await recovering(`UPDATE monitors SET state = 'up' WHERE id = $1`, [router.id]);
    await recovering(
      `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
       SELECT id, sequence + 1, tenant_id, 'down', 'up', $2, $2, '{}' FROM monitors WHERE id = $1`,
      [shop.id, at(91)],
    );
    const releasing = release(92);
    await until(async () => (await run(WAITING)).length);
    return { decision: releasing };
  });
  t.deepEqual(await decision, { isSent: false, attempts: [] });
});

test('a recovery that waits for its alert does not open a group', async (t) => {
  const { run, change, add, shop, channel, decide, deliver } = await prepareInHand(t);
  const blog = await add('Blog');
  await change('down', 90.1, [blog]);
  t.deepEqual(await deliver(channel, 90.2), ['Down: Blog']);
  await run('UPDATE channels SET group_seconds = 60 WHERE id = $1', [channel]);
  await change('up', 91, [shop]);
  t.is((await decide(92)).outcome, 'joined');
  await change('up', 93, [blog]);
  t.deepEqual(await deliver(channel, 93), ['Recovered: Blog']);
});

for (const type of ['telegram', 'webhook'] as const)
  for (const isInHand of [false, true])
    test(
      `a ${type} channel gets the next recovery after a lost one, even if the alert in between is not sent` +
        (isInHand ? ' after its claim' : ''),
      async (t) => {
        const { runtime, run, change, add, addChannel, deliver, posted, receiver, at } = await prepareParents(t);
        const { database, newId, publicUrl } = runtime;
        const router = await add('Router');
        const shop = await add('Shop', [[router, 'hold']], { reopenSeconds: 300 });
        const channel = await addChannel(type);
        await run(
          `UPDATE channels SET follows_maintenance = true, format = '{"preset": "pagerduty", "routing_key": "x"}'
           WHERE id = $1 AND type = 'webhook'`,
          [channel],
        );
        await change('down', 0, [shop]);
        await change('up', 0.5, [router]);
        await deliver(channel, 1);
        await change('up', 10, [shop]);
        receiver.isAway = true;
        await deliver(channel, 10);
        receiver.isAway = false;
        // The monitor fails again, and its alert waits for the check of its parent.
        await change('down', 12, [shop]);
        await deliver(channel, 17);
        if (isInHand) {
          await change('up', 17.5, [router]);
          await watchParents(runtime, at(18));
          const [claim] = await claimDeliveries(database, [channel], { nowMs: at(18), claimMs: CLAIM_MS });
          if (claim?.claimed?.event !== 'monitor.down') throw new Error('The alert is not the one that is claimed');
          await change('up', 18.1, [shop]);
          const held = new HeldAlerts({ database, newId, publicUrl, now: () => at(18.2) });
          t.false((await held.release(claim.claimed)).isSent);
        } else await change('up', 18, [shop]);
        const heard = [...(await deliver(channel, 19)), ...(await deliver(channel, 600))];
        if (type === 'telegram') t.is(heard.at(-1), 'Recovered: Shop');
        else t.is(posted.at(-1)?.message.event, 'monitor.up');
      },
    );

test('if a recovery was not attempted before the next one is decided, one of them arrives', async (t) => {
  const { add, addChannel, change, deliver, receiver } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']], { reopenSeconds: 300 });
  const channel = await addChannel('telegram');
  await change('down', 0, [shop]);
  await change('up', 0.5, [router]);
  t.deepEqual(await deliver(channel, 1), ['Down: Shop']);
  await change('up', 10, [shop]);
  await change('down', 12, [shop]);
  await change('up', 18, [shop]);
  receiver.isAway = true;
  await deliver(channel, 19);
  receiver.isAway = false;
  const heard = [...(await deliver(channel, 100)), ...(await deliver(channel, 600))];
  t.is(heard.at(-1), 'Recovered: Shop');
});

test('after a recovery that failed permanently the next one is sent', async (t) => {
  const { add, addChannel, change, deliver, refused } = await prepareParents(t);
  const router = await add('Router');
  const shop = await add('Shop', [[router, 'hold']]);
  const channel = await addChannel('telegram');
  await change('down', 0, [shop]);
  await change('up', 0.5, [router]);
  t.deepEqual(await deliver(channel, 1), ['Down: Shop']);
  refused.add('Recovered: Shop');
  await change('up', 400, [shop]);
  await deliver(channel, 400);
  refused.clear();
  await change('down', 800, [shop]);
  await change('up', 801, [shop]);
  t.deepEqual(await deliver(channel, 801), ['Recovered: Shop']);
});

test('an alert whose worker was killed is sent as soon as its monitor fails on its own', async (t) => {
  const { change, deliver, router, shop, channel } = await prepareInHand(t);
  await change('up', 91, [router]);
  await deliver(channel, 101);
  await change('down', 110, [shop]);
  t.deepEqual(await deliver(channel, 111), ['Down: Shop']);
});

test('a new outage does not wait behind the recovery of an alert whose worker was killed', async (t) => {
  const { change, deliver, router, shop, channel, posted } = await prepareInHand(t, 'webhook');
  await change('up', 91, [router]);
  await deliver(channel, 101);
  posted.splice(0);
  await change('up', 110, [shop]);
  await change('down', 120, [shop]);
  await change('up', 122, [router]);
  await deliver(channel, 130);
  t.deepEqual(
    posted.map(({ message }) => message.event),
    ['monitor.down'],
  );
});

test('no recovery is sent for an alert that was dropped after its worker was killed', async (t) => {
  const { change, deliver, shop, channel } = await prepareInHand(t);
  await change('degraded', 101, [shop]);
  await deliver(channel, 102);
  await change('up', 120, [shop]);
  t.deepEqual(await deliver(channel, 120), []);
});

test('no recovery deferred by quiet hours is sent if the alerts before it were dropped', async (t) => {
  const { run, at, change, deliver, shop, channel } = await prepareInHand(t);
  const hour = new Date(at(0)).getUTCHours();
  const quiet = { timezone: 'UTC', hours: `Mo-Su ${hour}:00-${(hour + 2) % 24}:00`, mode: 'hold' };
  await run('UPDATE channels SET rules = $2 WHERE id = $1', [
    channel,
    JSON.stringify([{ events: ['monitor.up'], quiet }, {}]),
  ]);
  await change('up', 91, [shop]);
  await deliver(channel, 101);
  await change('down', 200, [shop]);
  await deliver(channel, 230);
  await change('up', 240, [shop]);
  t.deepEqual(await deliver(channel, 3 * 3600), []);
});

test('of two workers that claimed an alert only the one with the current claim releases it', async (t) => {
  const { run, at, claimed, claim } = await prepareInHand(t);
  const again = await claim(101);
  if (again === null) throw new Error('The alert was not claimed again');
  t.deepEqual(await releaseHeld(run, [claimed, again], at(102)), [false, true]);
});
