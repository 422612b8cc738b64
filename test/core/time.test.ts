import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { listTimeZones, readTimeZone, toInstant, toLocalTime } from '../../core/time-zones.ts';
import { formatDuration, toUnixSeconds, within } from '../../core/time.ts';

test('times are rounded down to whole seconds, also before 1970', (t) => {
  t.deepEqual([0, 999, 1000, 1999, -1].map(toUnixSeconds), [0, 0, 1, 1, -1]);
});

test('work that finishes in time returns its result or throws its own error', async (t) => {
  t.is(await within(60_000, Promise.resolve('done'), 'late'), 'done');
  await t.throwsAsync(within(60_000, Promise.reject(new Error('broken')), 'late'), { message: 'broken' });
});

test('work that times out is abandoned, and its later rejection is handled', async (t) => {
  const { promise, reject } = Promise.withResolvers<string>();
  t.is(await within(0, promise, 'late'), 'late');
  t.is(await within(-1, promise, 'late'), 'late');
  // An unhandled rejection would fail this file.
  reject(new Error('too late'));
  await t.throwsAsync(promise);
});

test('data that arrived while the event loop was blocked counts as in time', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.teardown(() => client.destroy());
  const [[answerer]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [[Socket], []];
  t.teardown(() => answerer.destroy());

  const answer = within(20, once(client, 'data'), 'late');
  answerer.write('answer');
  const standsStillUntilMs = performance.now() + 100;
  while (performance.now() < standsStillUntilMs);

  t.not(await answer, 'late');
});

test('a zone name in any case gets its IANA spelling, older names are kept, and unknown ones are rejected', (t) => {
  const names = {
    'asia/kolkata': 'Asia/Kolkata',
    'ASIA/CALCUTTA': 'Asia/Calcutta',
    'america/port-au-prince': 'America/Port-au-Prince',
    'us/pacific': 'US/Pacific',
    'etc/gmt+5': 'Etc/GMT+5',
    utc: 'UTC',
    'w-su': 'W-SU',
    browser: 'browser',
  };
  for (const [typed, name] of Object.entries(names)) t.is(readTimeZone(typed), name);
  for (const typed of ['', 'Mars/Olympus', '+05:00', 'Europe/Berlin ']) t.is(readTimeZone(typed), null, typed);
});

test('a stored zone that this program does not know counts as UTC', (t) => {
  const atMs = Date.UTC(2026, 6, 1, 12);
  t.is(toLocalTime(atMs, 'Mars/Olympus'), atMs);
  t.is(toInstant(atMs, 'Mars/Olympus'), atMs);
});

test('time zones are listed once each, under their current names', (t) => {
  const names = listTimeZones();
  for (const name of ['Asia/Kolkata', 'Europe/Kyiv', 'Asia/Kathmandu']) t.true(names.includes(name), name);
  for (const name of ['Asia/Calcutta', 'Europe/Kiev', 'Asia/Katmandu', 'UTC']) t.false(names.includes(name), name);
  t.is(new Set(names).size, names.length);
});

const CASES: readonly [seconds: number, text: string][] = [
  [-5, 'less than a second'],
  [0, 'less than a second'],
  [0.9, 'less than a second'],
  [1, '1 second'],
  [59.9, '59 seconds'],
  [60, '1 minute'],
  [200, '3 minutes 20 seconds'],
  [3599, '59 minutes 59 seconds'],
  [3600, '1 hour'],
  [3659, '1 hour'],
  [7260, '2 hours 1 minute'],
  [86_399, '23 hours 59 minutes'],
  [86_400, '1 day'],
  [90_061, '1 day 1 hour'],
  [8_640_000, '100 days'],
];
for (const [seconds, text] of CASES) {
  test(`${seconds} s is ${text}`, (t) => {
    t.is(formatDuration(seconds), text);
  });
}
