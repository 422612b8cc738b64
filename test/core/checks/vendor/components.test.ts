import test from 'ava';
import * as fc from 'fast-check';
import { nearMatches } from '../../../../core/checks/vendor/observation.ts';

const CANDIDATES: [text: string, candidates: string[], expected: string[]][] = [
  ['gihub', ['github', 'gitlab', 'cloudflare'], ['github']],
  ['GITHUB', ['github'], ['github']],
  ['actions', ['GitHub Actions', 'Pages'], ['GitHub Actions']],
  ['api', ['API Requests', 'App', 'Apex', 'Webhooks'], ['API Requests', 'App', 'Apex']],
  ['zzzzzz', ['github'], []],
  ['', ['github'], []],
  ['x', Array.from({ length: 9 }, (_, index) => `x${index}`), ['x0', 'x1', 'x2', 'x3', 'x4']],
];
for (const [text, candidates, expected] of CANDIDATES) {
  test(`near ${JSON.stringify(text)} is ${expected.join(', ') || 'nothing'}`, (t) =>
    t.deepEqual(nearMatches(text, candidates), expected));
}

test('a candidate is nearest to itself, and one that is misspelt in one place is found', (t) => {
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

test('long texts cost no more than their beginnings', (t) =>
  t.deepEqual(nearMatches('a'.repeat(100_000), ['b'.repeat(100_000)]), []));
