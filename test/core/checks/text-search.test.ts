import test from 'ava';
import * as fc from 'fast-check';
import { containsText } from '../../../core/checks/text-search.ts';

const MIB = 1024 * 1024;

/** Texts of two letters, in which everything nearly matches. */
const nearly = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength });

test('what is found is what the engine finds, in texts too long for the engine as well', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(nearly(1, 40), nearly(0, 60), fc.nat(3), (word, end, cut) => {
        const text = `${word.repeat(Math.ceil(MIB / 4 / word.length))}${end}`;
        const sought = text.slice(-(100 + end.length)).slice(0, 90 + cut) + end;
        return containsText(text, sought) === text.includes(sought) && containsText(end, word) === end.includes(word);
      }),
      { numRuns: 30 },
    ),
  );
});

test('the empty text is in every text, and nothing else is in the empty one', (t) => {
  t.true(containsText('', ''));
  t.true(containsText('a'.repeat(MIB), ''));
  t.false(containsText('', 'a'));
});

test('a text at the very end is found, and one that is a letter longer is not', (t) => {
  const sought = `${'ab'.repeat(100)}c`;
  t.true(containsText('ab'.repeat(MIB / 2) + 'c', sought));
  t.false(containsText('ab'.repeat(MIB / 2), sought));
  t.true(containsText(`${'x'.repeat(MIB)}${'é😀'.repeat(50)}`, 'é😀'.repeat(50)));
});

test('a search that is made to fail as late as it can costs little processor time', (t) => {
  const sought = `${'a'.repeat(512)}b${'a'.repeat(511)}`;
  const before = process.threadCpuUsage().user;
  for (let times = 0; times < 5; times += 1) t.false(containsText('a'.repeat(MIB), sought));
  t.true((process.threadCpuUsage().user - before) / 1000 < 800);
});
