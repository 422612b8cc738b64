import test from 'ava';
import { layOver, sound, type Spell } from '../../../bench/truth/script.ts';

const span = { startMs: 0, endMs: 100 };

function spell(startMs: number, endMs: number, strayShare: number): Spell {
  return { ...sound(strayShare), startMs, endMs };
}

/** Where each spell of the script begins and how much it loses. */
function drawn(spells: readonly Spell[]): [number, number][] {
  const script = layOver(sound(0), spells, span);
  script.forEach(({ endMs }, index) => {
    if (endMs !== (script[index + 1]?.startMs ?? span.endMs)) throw new Error(`a gap after ${endMs}`);
  });
  return script.map(({ startMs, strayShare }) => [startMs, strayShare]);
}

test('without spells a location sees the same all the time', (t) => {
  t.deepEqual(drawn([]), [[0, 0]]);
});

test('spells in any order are laid over it, without gaps', (t) => {
  t.deepEqual(drawn([spell(60, 70, 0.6), spell(10, 20, 0.1)]), [
    [0, 0],
    [10, 0.1],
    [20, 0],
    [60, 0.6],
    [70, 0],
  ]);
});

test('of spells that overlap the one named later is seen', (t) => {
  t.deepEqual(drawn([spell(10, 50, 0.1), spell(20, 30, 0.2)]), [
    [0, 0],
    [10, 0.1],
    [20, 0.2],
    [30, 0.1],
    [50, 0],
  ]);
  t.deepEqual(drawn([spell(20, 30, 0.2), spell(10, 50, 0.1)]), [
    [0, 0],
    [10, 0.1],
    [20, 0.1],
    [30, 0.1],
    [50, 0],
  ]);
});

test('what lies outside the history is left out, what reaches into it is cut', (t) => {
  t.deepEqual(drawn([spell(-20, -10, 0.1), spell(-10, 10, 0.2), spell(90, 120, 0.3), spell(100, 110, 0.4)]), [
    [0, 0.2],
    [10, 0],
    [90, 0.3],
  ]);
});
