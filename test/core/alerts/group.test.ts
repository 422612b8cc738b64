import test from 'ava';
import {
  followUpDueAtMs,
  groupKeyOf,
  groupOpenUntilMs,
  limitedGroupKey,
  type AlertGroup,
} from '../../../core/alerts/group.ts';

const NOW_MS = 1_700_000_000_000;
const OPENED: AlertGroup = { openedAtMs: NOW_MS, newestDueAtMs: NOW_MS };

test('alerts of one group have the same state and cause', (t) => {
  const keyOf = (state: 'down' | 'up', cause: string | null) =>
    groupKeyOf({ state, detail: { cause } } as Parameters<typeof groupKeyOf>[0]);
  t.is(keyOf('down', 'timeout'), keyOf('down', 'timeout'));
  t.not(keyOf('down', 'timeout'), keyOf('down', 'status_503'));
  t.not(keyOf('down', null), keyOf('up', null));
});

test('the first ten causes get a group each, and further ones share one', (t) => {
  const open = new Set(Array.from({ length: 10 }, (_, index) => `down status_${500 + index}`));
  t.is(limitedGroupKey('down status_500', open), 'down status_500');
  t.is(limitedGroupKey('down timeout', open), 'other');
  t.is(limitedGroupKey('down timeout', new Set([...open].slice(1))), 'down timeout');
});

test('each change extends its group by the configured seconds, up to five minutes in total', (t) => {
  t.is(groupOpenUntilMs(OPENED, 10, NOW_MS + 7000), NOW_MS + 17_000);
  t.is(groupOpenUntilMs(OPENED, 10, NOW_MS + 299_000), NOW_MS + 300_000);
});

test('a Telegram message is edited three seconds after a change, at most every six seconds', (t) => {
  const due = (group: AlertGroup, nowMs: number) =>
    followUpDueAtMs(group, { type: 'telegram', groupSeconds: 60, nowMs });
  t.is(due(OPENED, NOW_MS + 4000), NOW_MS + 7000);
  t.is(due(OPENED, NOW_MS + 1000), NOW_MS + 6000);
  t.is(due({ ...OPENED, newestDueAtMs: NOW_MS + 7000 }, NOW_MS + 8000), NOW_MS + 13_000);
});

test('Slack and email get a follow-up after the configured seconds, then at most every 30 seconds', (t) => {
  for (const type of ['slack', 'email'] as const) {
    const due = (group: AlertGroup, nowMs: number) => followUpDueAtMs(group, { type, groupSeconds: 10, nowMs });
    t.is(due(OPENED, NOW_MS + 2000), NOW_MS + 10_000);
    t.is(due(OPENED, NOW_MS + 11_000), NOW_MS + 11_000);
    t.is(due({ ...OPENED, newestDueAtMs: NOW_MS + 10_000 }, NOW_MS + 12_000), NOW_MS + 40_000);
    t.is(due({ ...OPENED, newestDueAtMs: NOW_MS + 10_000 }, NOW_MS + 50_000), NOW_MS + 60_000);
  }
});
