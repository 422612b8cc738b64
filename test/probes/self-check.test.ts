import test from 'ava';
import type { Judgement } from '../../core/checks/verdict.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { SelfCheck } from '../../probes/self-check.ts';
import { startListener } from '../helpers/listener.ts';
import { until } from '../helpers/until.ts';

const DOWN: Judgement = { verdict: 'down', cause: 'timeout', reason: 'Timed out while connecting' };
const UP: Judgement = { verdict: 'up', cause: null, reason: null };

/** Opens a self-check on simulated time. */
function openChecked(hosts: readonly { host: string; port: number }[]) {
  const changes: boolean[] = [];
  let nowMs = 1_700_000_000_000;
  const selfCheck = new SelfCheck({ hosts, now: () => nowMs, onChange: (reachesAny) => void changes.push(reachesAny) });
  return {
    changes,
    pass: (seconds: number) => void (nowMs += seconds * 1000),
    see: (monitor: number, judgement: Judgement, type: MonitorType = 'http') =>
      selfCheck.apply({ monitor: String(monitor), type }, judgement),
  };
}

test('a bad result counts while a reference host is reachable, and is no vote with a reason otherwise', async (t) => {
  const reference = await startListener(t);
  const { see, pass, changes } = openChecked([reference]);
  t.is(await see(1, DOWN), DOWN);
  await see(1, UP);
  await reference.close();
  pass(6);
  const cutOff = await see(1, DOWN);
  t.like(cutOff, { verdict: 'none', cause: null });
  t.regex(cutOff.reason ?? '', /reference hosts/);
  t.deepEqual(changes, [false]);
});

test('one reachable reference host is enough', async (t) => {
  const [gone, there] = [await startListener(t), await startListener(t)];
  await gone.close();
  const { see, changes } = openChecked([gone, there]);
  t.is(await see(1, DOWN), DOWN);
  t.deepEqual(changes, []);
});

test('concurrent results share one connection test, and a later one has its own', async (t) => {
  const reference = await startListener(t);
  const { see } = openChecked([reference]);
  const judged = await Promise.all(Array.from({ length: 100 }, (_, index) => see(index, DOWN)));
  t.true(judged.every((judgement) => judgement === DOWN));
  await until(() => reference.connections() === 1);
  await see(200, DOWN);
  await until(() => reference.connections() === 2);
});

test('a test from before the network was lost does not confirm later results', async (t) => {
  const reference = await startListener(t);
  const { see } = openChecked([reference]);
  t.is(await see(1, DOWN), DOWN);
  await reference.close();
  t.is((await see(1, DOWN)).verdict, 'none');
  t.is((await see(2, DOWN)).verdict, 'none');
});

test('no host is tested for good results, one bad among them, or after five confirmed bad ones in a row', async (t) => {
  const reference = await startListener(t);
  const { see, pass } = openChecked([reference]);
  for (const monitor of [1, 2, 3, 4]) await see(monitor, UP);
  t.is(await see(1, DOWN), DOWN);
  t.is(reference.connections(), 0);
  for (let minute = 0; minute < 10; minute += 1) {
    pass(60);
    await see(1, DOWN);
  }
  await until(() => reference.connections() === 5);
  t.is(reference.connections(), 5);
});

test("an outage of the agent's network is reported at start and end, and bad results do not count", async (t) => {
  const reference = await startListener(t);
  const { see, pass, changes } = openChecked([reference]);
  await reference.close();
  for (let round = 0; round < 5; round += 1) {
    t.is((await see(1, DOWN)).verdict, 'none');
    pass(6);
    // Hosts in the local network still answer; most results are good.
    for (const monitor of [2, 3, 4, 5, 6]) t.is(await see(monitor, UP), UP);
    t.is((await see(7, DOWN)).verdict, 'none');
  }
  t.deepEqual(changes, [false]);
  await reference.open();
  pass(6);
  await see(2, UP);
  await until(() => changes.length === 2);
  t.deepEqual(changes, [false, true]);
  t.is(await see(1, DOWN), DOWN);
});

test('results from a registry or a status page are never suspect, nor evidence that the network is down', async (t) => {
  const reference = await startListener(t);
  await reference.close();
  const { see } = openChecked([reference]);
  t.is(await see(1, DOWN, 'domain'), DOWN);
  t.is(await see(2, DOWN, 'vendor'), DOWN);
  t.is((await see(3, DOWN, 'dns')).verdict, 'none');
});
