import test from 'ava';
import {
  findDownParents,
  holdForParents,
  JOINS_AFTER_MS,
  updateDueAtMs,
  wellUntilMs,
  type ParentFacts,
  type ParentSource,
} from '../../../core/alerts/parents.ts';

const NOW_MS = 1_800_000_000_000;
const SINCE_MS = NOW_MS - 5000;

const CHECKED: ParentSource = { newestAtMs: SINCE_MS + 1000, isFailing: false, recheckAtMs: null, slot: null };

function parent(given: Partial<ParentFacts> = {}, ...sources: Partial<ParentSource>[]): ParentFacts {
  return {
    no: 7,
    id: 'mon_router',
    name: 'Router',
    mode: 'hold',
    state: 'up',
    timeoutMs: 5000,
    intervalSeconds: 60,
    sources: (sources.length === 0 ? [{}] : sources).map((source) => ({ ...CHECKED, ...source })),
    ...given,
  };
}

/** Returns how long an alert is held, in milliseconds; null if it is not. */
function waitOf(parents: readonly ParentFacts[], sinceMs: number | null = SINCE_MS): number | null {
  const hold = holdForParents(parents, { sinceMs, nowMs: NOW_MS });
  return hold && hold.untilMs - NOW_MS;
}

const UNCHECKED = { newestAtMs: SINCE_MS - 1 };

for (const [what, parents, wait] of [
  ['without parents', [], null],
  ['behind a parent that a newer check found up', [parent()], null],
  ['behind a parent that is down', [parent({ state: 'down' })], JOINS_AFTER_MS],
  ['behind a down parent in annotate mode', [parent({ state: 'down', mode: 'annotate' })], null],
  ['behind an unchecked parent in annotate mode', [parent({ mode: 'annotate' }, UNCHECKED)], null],
  ['behind a parent with a running check', [parent({}, UNCHECKED)], 7000],
  ['behind a parent without any result', [parent({}, { newestAtMs: null })], 7000],
  ['behind a parent with a recheck soon', [parent({}, { ...UNCHECKED, recheckAtMs: NOW_MS + 3000 })], 10_000],
  ['behind a parent with an overdue recheck', [parent({}, { ...UNCHECKED, recheckAtMs: NOW_MS - 9000 })], 7000],
  ['behind a parent that has failed once', [parent({}, { isFailing: true, recheckAtMs: NOW_MS + 20_000 })], 27_000],
  [
    'behind a parent whose next check is far off',
    [parent({}, { isFailing: true, recheckAtMs: NOW_MS + 90_000 })],
    27_000,
  ],
  ['behind a parent with one unchecked location', [parent({}, {}, UNCHECKED)], 7000],
  ['behind a parent without locations', [parent({ sources: [] })], null],
  ['behind a paused parent', [parent({ state: 'paused', sources: [] })], null],
  ['behind several parents', [parent(), parent({ timeoutMs: 9000 }, UNCHECKED), parent({}, UNCHECKED)], 11_000],
  [
    'behind an unchecked parent and one that is down',
    [parent({}, UNCHECKED), parent({ state: 'down' })],
    JOINS_AFTER_MS,
  ],
] as const)
  test(`an alert ${what} waits ${wait === null ? 'for nothing' : `${wait} ms`}`, (t) => t.is(waitOf(parents), wait));

test('an alert that its parents cannot explain waits only for parents that are down', (t) => {
  t.is(waitOf([parent({}, UNCHECKED)], null), null);
  t.is(waitOf([parent({ state: 'down' })], null), JOINS_AFTER_MS);
});

test('no alert waits for longer than a recheck, a timeout and two seconds', (t) => {
  for (const recheckAtMs of [null, NOW_MS - 1, NOW_MS + 1, NOW_MS + 19_999, NOW_MS + 1e9])
    for (const slot of [null, 0, 17, 239])
      for (const isFailing of [true, false]) {
        const wait = waitOf([parent({ timeoutMs: 10_000 }, { newestAtMs: null, isFailing, recheckAtMs, slot })]);
        t.true(wait !== null && wait >= 12_000 && wait <= 32_000, `${recheckAtMs} ${slot}: ${wait}`);
      }
});

test('a hold names the parent with the longest wait, unless another parent is down', (t) => {
  const slow = parent({ id: 'mon_slow', timeoutMs: 9000 }, UNCHECKED);
  const when = { sinceMs: SINCE_MS, nowMs: NOW_MS };
  t.is(holdForParents([parent({}, UNCHECKED), slow], when)?.heldBy, 'mon_slow');
  t.is(holdForParents([slow, parent({ state: 'down' })], when)?.heldBy, 'mon_router');
});

test('parents count as healthy once all were checked after the failure and none is down', (t) => {
  const failing = { isFailing: true };
  for (const [known, untilMs] of [
    [parent(), SINCE_MS + 1000],
    [parent({}, {}, UNCHECKED), SINCE_MS - 1],
    [parent({}, {}, failing), 0],
    [parent({}, { newestAtMs: null }), 0],
    [parent({ state: 'down' }), 0],
    [parent({ state: 'paused', sources: [] }), Infinity],
  ] as const) {
    t.is(wellUntilMs(known), untilMs);
    for (const sinceMs of [SINCE_MS, SINCE_MS + 1000, SINCE_MS + 1001])
      t.is(holdForParents([known], { sinceMs, nowMs: NOW_MS }) === null, sinceMs <= untilMs);
  }
});

test('down and degraded alerts name the parents that are down, in either mode', (t) => {
  const parents = [parent(), parent({ state: 'down', mode: 'annotate' }), parent({ id: 'mon_b', state: 'degraded' })];
  t.deepEqual(findDownParents({ to: 'down' }, parents), [{ id: 'mon_router', name: 'Router', state: 'down' }]);
  t.is(findDownParents({ to: 'degraded' }, parents).length, 1);
  t.deepEqual(findDownParents({ to: 'up' }, parents), []);
  t.deepEqual(findDownParents({ to: 'unknown' }, parents), []);
});

test('updates follow after 30 s, then after doubling waits of up to an hour, at most ten times', (t) => {
  const waits = Array.from({ length: 11 }, (_, index) => updateDueAtMs(index + 1, 0));
  t.deepEqual(
    waits.map((ms) => ms && ms / 1000),
    [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, null],
  );
});
