import test from 'ava';
import { blame, findCulprits, type Dependency } from '../../../../core/checks/vendor/dependencies.ts';
import type { Change } from '../../../../core/incidents/change.ts';

const CHANGE: Change = {
  from: 'up',
  to: 'down',
  atMs: 1,
  detectedAtMs: 2,
  cause: 'status_503',
  reason: 'HTTP 503 instead of 2xx',
  evidence: { tally: { sources: 1, votes: 1, needed: 1, down: 1, impaired: 1 }, quorum: 1, sources: [] },
  failures: [],
};
const DEPENDENCIES: Dependency[] = [
  { id: 'mon_1', name: 'Stripe', state: 'up' },
  { id: 'mon_2', name: 'GitHub', state: 'degraded' },
  { id: 'mon_3', name: 'AWS', state: 'down' },
  { id: 'mon_4', name: 'Slack', state: 'paused' },
  { id: 'mon_5', name: 'Vercel', state: 'unknown' },
];

test('down and degraded vendors are possible causes when a monitor goes down, down ones first', (t) => {
  const culprits = findCulprits(CHANGE, DEPENDENCIES);
  t.deepEqual(
    culprits.map(({ id }) => id),
    ['mon_3', 'mon_2'],
  );
  t.deepEqual(blame(CHANGE, culprits), {
    ...CHANGE,
    reason: 'HTTP 503 instead of 2xx. Possible cause: AWS is down, GitHub is degraded',
  });
});

test('other changes have no possible causes, and without causes a change is returned as it is', (t) => {
  for (const to of ['up', 'degraded', 'unknown'] as const) t.deepEqual(findCulprits({ to }, DEPENDENCIES), []);
  t.is(blame(CHANGE, []), CHANGE);
});

test('at most three vendors are named', (t) => {
  const many = Array.from({ length: 5 }, (_, index) => ({
    id: `mon_${index}`,
    name: `Vendor ${index}`,
    state: 'down' as const,
  }));
  t.true(blame(CHANGE, many).reason?.endsWith('Vendor 0 is down, Vendor 1 is down, Vendor 2 is down and 2 more'));
});
