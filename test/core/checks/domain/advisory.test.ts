import test from 'ava';
import * as fc from 'fast-check';
import { completeEnvelope } from '../../../../core/alerts/envelope.ts';
import { buildAdvisoryMessage, passedThreshold } from '../../../../core/checks/domain/advisory.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;
const passed = (daysLeft: number, warnDays: number) =>
  passedThreshold({ expiresAt: Math.floor((NOW_MS + daysLeft * DAY_MS) / 1000), warnDays, nowMs: NOW_MS });

const CASES: readonly [daysLeft: number, warnDays: number, threshold: number | null][] = [
  [31, 30, null],
  [30.01, 30, null],
  [30, 30, 30],
  [14.5, 30, 30],
  [14, 30, 14],
  [7.01, 30, 14],
  [7, 30, 7],
  [3, 30, 3],
  [1.5, 30, 3],
  [1, 30, 1],
  [0.1, 30, 1],
  [0, 30, 1],
  [-5, 30, 1],
  [14, 5, null],
  [5, 5, 5],
  [3.5, 5, 5],
  [3, 5, 3],
  [2, 1, null],
  [1, 1, 1],
  [10, 14, 14],
  [7, 7, 7],
  [3000, 3650, 3650],
  [32_767, 2_147_483_647, 32_767],
  [100_000, 2_147_483_647, 32_767],
];
for (const [daysLeft, warnDays, threshold] of CASES) {
  test(
    `with ${daysLeft} days left and a warning period of ${warnDays} days ` +
      `${threshold === null ? 'no advisory is due' : `the advisory of ${threshold} days is due`}`,
    (t) => {
      t.is(passed(daysLeft, warnDays), threshold);
    },
  );
}

test('over time each threshold is due once, in descending order', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3650 }), fc.integer({ min: 1, max: 40 }), (warnDays, hours) => {
      const said: number[] = [];
      for (let left = (warnDays + 2) * 24; left >= -48; left -= hours) {
        const threshold = passed(left / 24, warnDays);
        if (threshold !== null && threshold !== said.at(-1)) said.push(threshold);
      }
      return (
        said.every((threshold, index) => threshold <= warnDays && threshold < (said[index - 1] ?? Infinity)) &&
        said.at(-1) === 1
      );
    }),
  );
  t.pass();
});

test('an advisory says what expires and when, changes no state and starts with the common fields', (t) => {
  const message = buildAdvisoryMessage({
    monitor: { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' },
    subject: 'certificate',
    name: 'shop.example',
    expiresAt: (NOW_MS + 6.5 * DAY_MS) / 1000,
    nowMs: NOW_MS,
    publicUrl: 'https://spotcheck.example',
  });
  const envelope = completeEnvelope(message, { deliveryId: 'dlv_1', sentAtMs: NOW_MS + 1500 });
  t.deepEqual(Object.keys(envelope).slice(0, 5), ['version', 'event', 'delivery_id', 'event_at', 'sent_at']);
  t.deepEqual<object, object>(envelope, {
    version: '1',
    event: 'advisory.domain_expiry',
    delivery_id: 'dlv_1',
    event_at: NOW_MS / 1000,
    sent_at: NOW_MS / 1000 + 1,
    monitor: { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' },
    state: 'expiring',
    reason: 'The certificate shop.example expires in 7 days, on 2026-11-28',
    detail: {
      sources_down: [],
      incident_id: null,
      subject: 'certificate',
      name: 'shop.example',
      expires_at: (NOW_MS + 6.5 * DAY_MS) / 1000,
      days_remaining: 7,
    },
    url: 'https://spotcheck.example/monitors/mon_1',
  });
});
