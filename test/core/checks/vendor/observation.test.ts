import test from 'ava';
import * as fc from 'fast-check';
import { judgeVendor, nearMatches } from '../../../../core/checks/vendor/observation.ts';
import type { VendorSnapshot, VendorState } from '../../../../core/checks/vendor/snapshot.ts';

const OPERATIONAL: VendorSnapshot = {
  name: 'GitHub Status',
  overall: 'operational',
  components: [
    { id: 'a', name: 'Actions', state: 'operational' },
    { id: 'b', name: 'Pages', state: 'operational' },
    { id: 'c', name: 'Git Operations', state: 'operational' },
  ],
  listsAll: true,
  events: [],
};

function judge(snapshot: Partial<VendorSnapshot>, components: string[] = [], target = 'github') {
  const observation = {
    type: 'vendor',
    startedAt: 0,
    latencyMs: 5,
    outcome: 'read',
    snapshot: { ...OPERATIONAL, ...snapshot },
  } as const;
  return judgeVendor({ target: { target, checkSpec: { vendor: { components } } }, observation });
}

const withState = (id: string, state: VendorState) =>
  OPERATIONAL.components.map((component) => (component.id === id ? { ...component, state } : component));
const UP = { verdict: 'up', cause: null, reason: null };

test('an operational vendor is up, as a whole and by component, ignoring case', (t) => {
  t.deepEqual(judge({}), UP);
  t.deepEqual(judge({}, ['ACTIONS', 'b']), UP);
});

const WHOLE: [VendorState, string, string | null, string | null][] = [
  ['maintenance', 'degraded', 'vendor_degraded', 'GitHub reports maintenance'],
  ['degraded', 'degraded', 'vendor_degraded', 'GitHub reports degraded performance'],
  ['partial', 'degraded', 'vendor_degraded', 'GitHub reports a partial outage'],
  ['major', 'down', 'vendor_down', 'GitHub reports a major outage'],
];
for (const [overall, verdict, cause, reason] of WHOLE) {
  test(`an overall status of ${overall} is ${verdict}`, (t) =>
    t.deepEqual(judge({ overall }), { verdict: verdict as 'down', cause: cause as 'vendor_down', reason }));
}

test('a component outage is partial for the vendor and down for monitors of that component', (t) => {
  const components = withState('a', 'major');
  t.like(judge({ components }), {
    verdict: 'degraded',
    cause: 'vendor_degraded',
    reason: 'GitHub reports a partial outage of Actions',
  });
  t.like(judge({ components }, ['Actions', 'Pages']), {
    verdict: 'down',
    cause: 'vendor_down',
    reason: 'GitHub reports a major outage of Actions',
  });
  t.deepEqual(judge({ components }, ['Pages']), UP);
});

test('an outage of every component is an outage of the vendor', (t) => {
  t.like(
    judge({ overall: null, components: OPERATIONAL.components.map((component) => ({ ...component, state: 'major' })) }),
    { verdict: 'down', cause: 'vendor_down' },
  );
});

test('the reason names an incident of the watched components, not one of others', (t) => {
  const events = [
    { title: 'Pages are slow', componentIds: ['b'] },
    { title: 'Disruption with Actions', componentIds: ['a'] },
  ];
  const components = withState('a', 'partial');
  t.is(
    judge({ components, events }, ['Actions']).reason,
    'GitHub reports a partial outage of Actions: Disruption with Actions',
  );
  t.is(
    judge({ components, events: events.slice(0, 1) }, ['Actions']).reason,
    'GitHub reports a partial outage of Actions',
  );
  t.is(
    judge({ components, events: [{ title: 'Something', componentIds: [] }] }, ['Actions']).reason,
    'GitHub reports a partial outage of Actions: Something',
  );
});

test('long lists and titles are truncated, and control characters are replaced', (t) => {
  const components = Array.from({ length: 6 }, (_, index) => ({
    id: String(index),
    name: `Part ${index}`,
    state: 'degraded' as const,
  }));
  t.is(
    judge({ components, events: [{ title: `a\u0000b${'x'.repeat(500)}`, componentIds: [] }] }).reason,
    `GitHub reports degraded performance of Part 0, Part 1, Part 2 and 3 more: a b${'x'.repeat(157)}`,
  );
});

test('a component that the page does not list is no vote, unless another one has an outage', (t) => {
  t.deepEqual(judge({}, ['Actions', 'Gone']), {
    verdict: 'none',
    cause: 'vendor_unreachable',
    reason: 'The status page of GitHub does not list Gone',
  });
  t.like(judge({ components: withState('a', 'major') }, ['Actions', 'Gone']), { verdict: 'down' });
});

test('if a page lists only problems, unlisted components are up, and regional problems affect services', (t) => {
  const snapshot = {
    listsAll: false,
    overall: 'partial',
    components: [{ id: '*:us-east-1', name: 'Multiple services (us-east-1)', state: 'major' }],
  } as const;
  t.deepEqual(judge(snapshot, ['ec2:eu-west-1'], 'aws'), UP);
  t.like(judge(snapshot, ['ec2:us-east-1'], 'aws'), {
    verdict: 'down',
    reason: 'AWS reports a major outage of Multiple services (us-east-1)',
  });
});

test('a page outside the catalog is named by its own name, or else its host', (t) => {
  t.is(
    judge({ overall: 'major', name: 'Shop' }, [], 'https://status.shop.example').reason,
    'Shop reports a major outage',
  );
  t.is(
    judge({ overall: 'major', name: null }, [], 'https://status.shop.example').reason,
    'status.shop.example reports a major outage',
  );
});

test('a page that could not be read is no vote', (t) => {
  const observation = {
    type: 'vendor',
    startedAt: 0,
    latencyMs: null,
    outcome: 'unread',
    reason: 'The status page responded with HTTP 503',
  } as const;
  t.deepEqual(judgeVendor({ target: { target: 'github', checkSpec: {} }, observation }), {
    verdict: 'none',
    cause: 'vendor_unreachable',
    reason: 'The status page responded with HTTP 503',
  });
});

const CANDIDATES: [text: string, candidates: string[], expected: string[]][] = [
  ['gihub', ['github', 'gitlab', 'cloudflare'], ['github']],
  ['GITHUB', ['github'], ['github']],
  ['actions', ['GitHub Actions', 'Pages'], ['GitHub Actions']],
  ['api', ['API Requests', 'App', 'Apex', 'Webhooks'], ['API Requests', 'App', 'Apex']],
  ['zzzzzz', ['github'], []],
  ['', ['github'], []],
  ['x', Array.from({ length: 9 }, (_, index) => `x${index}`), ['x0', 'x1', 'x2', 'x3', 'x4']],
];
const CLUSTERS = Array.from({ length: 3211 }, (_, index) => String(1234 + index))
  .filter((digits) => /^[1-4]{4}$/.test(digits) && new Set(digits).size === 4)
  .map((digits) => `Cluster ${digits}`);
CANDIDATES.push(['Clstr 4321', CLUSTERS, ['Cluster 4321']]);
for (const [text, candidates, expected] of CANDIDATES) {
  test(`${JSON.stringify(text)} is close to ${expected.join(', ') || 'nothing'}`, (t) =>
    t.deepEqual(nearMatches(text, candidates), expected));
}

test('a candidate matches itself and a copy with one wrong character', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.string({ minLength: 3, maxLength: 30 }).filter((text) => text.trim().length >= 3),
        fc.array(fc.string()),
        fc.nat(),
        (text, others, index) => {
          const at = index % text.length;
          const misspelt = `${text.slice(0, at)}\u0001${text.slice(at + 1)}`;
          return (
            nearMatches(text, [...others.filter((other) => other.trim() === '' || other.length < 2), text]).includes(
              text,
            ) && nearMatches(misspelt, [text]).length === 1
          );
        },
      ),
    ),
  );
});

test('texts of 100,000 characters with different beginnings do not match', (t) =>
  t.deepEqual(nearMatches('a'.repeat(100_000), ['b'.repeat(100_000)]), []));
