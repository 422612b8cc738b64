import test from 'ava';
import * as fc from 'fast-check';
import {
  findDependencyProblems,
  MAX_DEPENDENCIES,
  MAX_LEVELS,
  sortParents,
  type Dependency,
} from '../../../core/monitors/dependencies.ts';

/** Returns the problems of making `child` depend on these, with dependencies as `a>b`: a depends on b. */
function problemsOf(child: string, on: readonly string[], dependencies: readonly string[] = []): string[] {
  return findDependencyProblems(
    on.map((id) => ({ id, mode: 'hold' })),
    {
      monitorId: child,
      ownIds: new Set([...on].filter((id) => id !== 'foreign')),
      dependencies: dependencies.map((text) => {
        const [monitorId = '', parentId = ''] = text.split('>');
        return { monitorId, parentId };
      }),
    },
  ).map(({ message }) => message);
}

test('foreign, self and duplicate parents are refused with their index', (t) => {
  t.deepEqual(problemsOf('a', []), []);
  t.deepEqual(problemsOf('a', ['b', 'c']), []);
  t.deepEqual(problemsOf('a', ['b', 'foreign']), [
    'depends_on[1].id must be the id of a monitor of this account, got "foreign"',
  ]);
  t.deepEqual(problemsOf('a', ['a']), ['depends_on[0].id must be another monitor, got this one']);
  t.deepEqual(problemsOf('a', ['b', 'b']), ['depends_on[1].id must be named once, got "b" again']);
});

test('cycles of any length are refused, and a shared ancestor is not one', (t) => {
  t.deepEqual(problemsOf('a', ['c', 'b'], ['b>a']), [
    'depends_on[1].id must not depend on this monitor itself, and "b" does: leave it out, or remove that first',
  ]);
  t.is(problemsOf('a', ['d'], ['b>a', 'c>b', 'd>c']).length, 1);
  t.deepEqual(problemsOf('a', ['b', 'c'], ['b>d', 'c>d', 'd>e']), []);
});

test("a monitor's previous dependencies are replaced and do not count toward a cycle", (t) => {
  t.deepEqual(problemsOf('a', ['c'], ['a>b', 'b>c']), []);
});

test('a chain has at most ten monitors, counted above and below the changed one', (t) => {
  const chain = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => `m${from + index}>m${from + index + 1}`);
  t.deepEqual(problemsOf('m5', ['m6'], [...chain(1, 5), ...chain(6, MAX_LEVELS)]), []);
  t.deepEqual(problemsOf('m5', ['m6'], [...chain(1, 5), ...chain(6, MAX_LEVELS + 1)]), [
    'depends_on must be such that no chain of dependencies has more than 10 monitors, got one of 11',
  ]);
});

test('an account has at most 20,000 dependencies', (t) => {
  const others = (count: number) => Array.from({ length: count }, (_, index) => `x${index}>y`);
  t.deepEqual(problemsOf('a', ['b'], others(MAX_DEPENDENCIES - 1)), []);
  t.regex(problemsOf('a', ['b'], others(MAX_DEPENDENCIES))[0] ?? '', /at most 20000 dependencies, got 20001/);
});

test('any sequence of accepted writes yields no cycle and no chain that is too long', (t) => {
  const name = fc.integer({ min: 0, max: 13 }).map(String);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.uniqueArray(name, { maxLength: 4 })), { maxLength: 60 }), (writes) => {
      const stored = new Map<string, readonly string[]>();
      for (const [monitorId, on] of writes) {
        const dependencies: Dependency[] = [...stored].flatMap(([child, parents]) =>
          parents.map((parentId) => ({ monitorId: child, parentId })),
        );
        const problems = findDependencyProblems(
          on.map((id) => ({ id, mode: 'annotate' })),
          { monitorId, ownIds: new Set(on), dependencies },
        );
        const before = stored.get(monitorId) ?? [];
        stored.set(monitorId, on);
        const levels = longestChain(stored);
        if (problems.length === 0) t.true(levels <= MAX_LEVELS);
        else {
          t.true(levels > MAX_LEVELS);
          stored.set(monitorId, before);
        }
      }
    }),
  );
  t.pass();
});

/** Returns the length of the longest chain by following each; Infinity if there is a cycle. */
function longestChain(stored: ReadonlyMap<string, readonly string[]>): number {
  const follow = (id: string, above: readonly string[]): number =>
    above.includes(id)
      ? Infinity
      : 1 + Math.max(0, ...(stored.get(id) ?? []).map((parent) => follow(parent, [...above, id])));
  return Math.max(0, ...[...stored.keys()].map((id) => follow(id, [])));
}

test('parents are sorted by id', (t) => {
  t.deepEqual(
    sortParents([
      { id: 'mon_b', mode: 'hold' },
      { id: 'mon_B', mode: 'annotate' },
    ]),
    [
      { id: 'mon_B', mode: 'annotate' },
      { id: 'mon_b', mode: 'hold' },
    ],
  );
});
