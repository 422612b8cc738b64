import test from 'ava';
import type { Judgement } from '../../../core/checks/verdict.ts';
import type { HeartbeatSettings } from '../../../core/heartbeats/deadlines.ts';
import { judgeHeartbeat, type HeartbeatObservation } from '../../../core/heartbeats/judge.ts';
import { cleanPingBody, firstLineOf, hideCredentials } from '../../../core/heartbeats/pings.ts';

const SETTINGS: HeartbeatSettings = {
  intervalSeconds: 60,
  schedule: null,
  graceSeconds: 30,
  maxDurationSeconds: 20,
  failEnabled: true,
};
const UP: Judgement = { verdict: 'up', cause: null, reason: null };

const CASES: readonly [Partial<HeartbeatObservation> & Pick<HeartbeatObservation, 'outcome'>, Judgement][] = [
  [{ outcome: 'success' }, UP],
  [{ outcome: 'success', firstLine: 'error: not really' }, UP],
  [{ outcome: 'exit', exitStatus: 0 }, UP],
  [
    { outcome: 'exit', exitStatus: 137 },
    { verdict: 'down', cause: 'heartbeat_failed', reason: 'The job ended with exit status 137' },
  ],
  [
    { outcome: 'exit', exitStatus: 1, firstLine: 'disk full' },
    { verdict: 'down', cause: 'heartbeat_failed', reason: 'The job ended with exit status 1: "disk full"' },
  ],
  [{ outcome: 'fail' }, { verdict: 'down', cause: 'heartbeat_failed', reason: 'The job reported a failure' }],
  [
    { outcome: 'fail', firstLine: 'no space left' },
    { verdict: 'down', cause: 'heartbeat_failed', reason: 'The job reported a failure: "no space left"' },
  ],
  [
    { outcome: 'missed' },
    {
      verdict: 'down',
      cause: 'heartbeat_missed',
      reason: 'No ping came in time: expected every 1 min, grace period 30 s',
    },
  ],
  [
    { outcome: 'overrun' },
    { verdict: 'down', cause: 'heartbeat_overrun', reason: 'The job did not finish within 20 s' },
  ],
];
for (const [facts, expected] of CASES) {
  test(`${JSON.stringify(facts)} is ${expected.verdict}: ${expected.reason ?? 'no reason'}`, (t) => {
    const observation: HeartbeatObservation = {
      type: 'heartbeat',
      startedAt: 0,
      latencyMs: null,
      exitStatus: null,
      firstLine: null,
      ...facts,
    };
    t.deepEqual(judgeHeartbeat({ observation, settings: SETTINGS }), expected);
  });
}

test('a body keeps its line breaks and loses control and invalid characters, and a blank one is dropped', (t) => {
  t.is(cleanPingBody('one\n\ttwo\u0000\u001b[31m \ud800'), 'one\n\ttwo \ufffd');
  t.is(cleanPingBody(' \u0000\n '), null);
  t.is(cleanPingBody(''), null);
});

test('a body loses the credentials that a job printed, one cut at its end too', (t) => {
  const [id, secret, key] = ['mon_01k5h3q2v8x7z9abcdefghjkmn', 'A-b_'.repeat(6), 'A-b_C'.repeat(9).slice(2)];
  t.is(
    cleanPingBody(`+ curl https://x.example/ping/eu.${id}.${secret}/start\n+ KEY=spp_eu_${key}/nightly`),
    `+ curl https://x.example/ping/eu.${id}.[redacted]/start\n+ KEY=spp_[redacted]/nightly`,
  );
  t.is(cleanPingBody(`Bearer spk_${key} spa_${key}.`), 'Bearer spk_[redacted] spa_[redacted].');
  t.is(cleanPingBody(`/ping/${id}.${secret.slice(0, 20)}`), `/ping/${id}.[redacted]`);
  t.is(cleanPingBody(`KEY=spp_${key.slice(0, 16)}`), 'KEY=spp_[redacted]');
});

test('a body loses credentials that a terminal broke into two lines, wherever', (t) => {
  const [id, secret, key] = ['mon_01k5h3q2v8x7z9abcdefghjkmn', 'A-b_'.repeat(6), 'A-b_C'.repeat(9).slice(2)];
  for (const token of [`${id}.${secret}`, `spk_${key}`, `spp_eu_${key}`]) {
    for (const at of Array.from({ length: token.length - 1 }, (_, index) => index + 1)) {
      const body = cleanPingBody(`+ curl ${token.slice(0, at)}\r\n${token.slice(at)}/start\nbye`);
      // A cell's name (`eu_`) may leave as many characters.
      t.regex(
        body?.replace('\n', '') ?? '',
        /^\+ curl (?:mon_\w{26}\.|sp[kp]_)\[redacted\](?:b_C|_C|C)?\/start\n?bye$/,
        `${at}`,
      );
    }
  }
});

test('a body loses the first line of a credential that is broken or cut in another way', (t) => {
  const [id, secret, key] = ['mon_01k5h3q2v8x7z9abcdefghjkmn', 'A-b_'.repeat(6), 'A-b_C'.repeat(9).slice(2)];
  const [cut, rest] = [key.slice(0, 20), key.slice(20)];
  for (const [body, hidden] of [
    [`spk_${cut}\n    ${rest}`, `spk_[redacted]\n    ${rest}`],
    [`${id}.${secret.slice(0, 18)}\n> ${secret.slice(18)}`, `${id}.[redacted]\n> ${secret.slice(18)}`],
    [`spk_${cut}\n... (truncated)`, 'spk_[redacted]\n... (truncated)'],
    [`spk_${cut}\n${cut}\nb_C`, `spk_[redacted]\n${cut}\nb_C`],
    [`spk_${key.slice(0, 36)}\n${key.slice(0, 28)}`, `spk_[redacted]\n${key.slice(0, 28)}`],
    [`spk_${cut}\n${rest}-more`, `spk_[redacted]\n${rest}-more`],
    ['spk_0k2m4-9f3h5z7q1w8\n...', 'spk_[redacted]\n...'],
  ])
    t.is(cleanPingBody(body ?? ''), hidden ?? '');
});

test('a body loses a credential of a ping after a name that seems to be one together with its start', (t) => {
  const [id, secret] = ['mon_01k5h3q2v8x7z9abcdefghjkmn', 'A-b_'.repeat(6)];
  t.is(cleanPingBody(`spa_Rooms_hotel_x\n${id}.${secret}`), 'spa_[redacted].[redacted]');
  t.is(cleanPingBody(`spa_Rooms_hotel_x\n${id}.${secret.slice(0, 18)}\n`), 'spa_[redacted].[redacted]');
  t.is(cleanPingBody(`${id}.${secret}\u001b[31m${id}.${secret}`), `${id}.[redacted].[redacted]`, 'another one');
  t.is(cleanPingBody(`spa_Rooms_a\nhotels\n${id}.${secret} end`), `spa_Rooms_a\nhotels\n${id}.[redacted] end`);
});

test('a body loses the credentials that follow a letter or digit', (t) => {
  const [id, secret, key] = ['mon_01k5h3q2v8x7z9abcdefghjkmn', 'A-b_'.repeat(6), 'A-b_C'.repeat(9).slice(2)];
  t.is(cleanPingBody(`\u001b[32mspk_${key}\u001b[0m`), 'spk_[redacted]');
  t.is(cleanPingBody(`spk_${key.slice(0, 20)}\u001b[1;31m${key.slice(20)}`), 'spk_[redacted]', 'a color within it');
  t.is(cleanPingBody(`\u001b[${id}.${secret} \u001b[3spk_${key}`), `[${id}.[redacted] [3spk_[redacted]`, 'no color');
  t.is(hideCredentials(`[32mspk_${key}[0m`), '[32mspk_[redacted][0m', 'stored by an earlier release');
  t.is(cleanPingBody(`Bearer%20spk_${key}&to=%2F${id}.${secret}`), `Bearer%20spk_[redacted]&to=%2F${id}.[redacted]`);
  t.is(cleanPingBody(`{"log":"\\nspa_${key}"}`), '{"log":"\\nspa_[redacted]"}');
  t.is(cleanPingBody(`curl -Hspk_${key}`), 'curl -Hspk_[redacted]');
});

test('a body keeps the names of files that begin like credentials', (t) => {
  const id = 'mon_01k5h3q2v8x7z9abcdefghjkmn';
  for (const text of [
    `1412 files of ${id}.sql in spa_bookings`,
    'spa_bookings_nightly_2026.sql is done',
    `${id}.backup-2026-12-01-full.sql.gz is done`,
    `${id}.backup-2026-12-01-full\nis done: ${id}.backup-2026-12-01-full`,
    'CREATE TABLE spa_treatments_and_massages\n(id bigint);\n/backup/spa_bookings_nightly',
    'raspa_colour_management_x',
    // Several lines together have the length of a token.
    'spa_bookings\nspa_Rooms_of_hotels\nspa_guests\nabcdef',
  ])
    t.is(cleanPingBody(text), text);
});

test('the first line of a body skips blank lines and has no line ending', (t) => {
  t.is(firstLineOf(cleanPingBody('\n\ndisk full\r\nmore')), 'disk full');
  t.is(firstLineOf(null), null);
});

test('a reason states interval, grace period and run time in hours, minutes and seconds', (t) => {
  const observation: HeartbeatObservation = {
    type: 'heartbeat',
    outcome: 'missed',
    startedAt: 0,
    latencyMs: null,
    exitStatus: null,
    firstLine: null,
  };
  const settings = { ...SETTINGS, intervalSeconds: 3600, graceSeconds: 0, maxDurationSeconds: 5405 };
  t.is(judgeHeartbeat({ observation, settings }).reason, 'No ping came in time: expected every 1 h, grace period 0 s');
  t.is(
    judgeHeartbeat({ observation: { ...observation, outcome: 'overrun' }, settings }).reason,
    'The job did not finish within 1 h 30 min 5 s',
  );
});

test('a missed run is reported in its time zone and in UTC', (t) => {
  const graceSeconds = 600;
  const observation: HeartbeatObservation = {
    type: 'heartbeat',
    outcome: 'missed',
    startedAt: Date.parse('2026-11-27T23:30:00Z') + graceSeconds * 1000,
    latencyMs: null,
    exitStatus: null,
    firstLine: null,
  };
  const reasonIn = (timezone: string) => {
    const schedule = { cron: '30 0 * * *', timezone, earlySeconds: 60, runAfter: () => null };
    return judgeHeartbeat({ observation, settings: { ...SETTINGS, graceSeconds, schedule } }).reason;
  };
  t.is(
    reasonIn('Europe/Berlin'),
    'No ping came in time: expected at 2026-11-28 00:30 Europe/Berlin (2026-11-27 23:30 UTC), grace period 10 min',
  );
  t.is(reasonIn('UTC'), 'No ping came in time: expected at 2026-11-27 23:30 UTC, grace period 10 min');
  t.regex(String(reasonIn('Mars/Olympus')), /expected at .*\(2026-11-27 23:30 UTC\)/, 'unknown to this program');
});
