import test from 'ava';
import { layOver, sound, type Period } from '../../../simulation/truth/script.ts';

const span = { startMs: 0, endMs: 100 };

function period(startMs: number, endMs: number, strayShare: number): Period {
  return { ...sound(strayShare), startMs, endMs };
}

/** Returns the start and the loss rate of each period of the script. */
function drawn(periods: readonly Period[]): [number, number][] {
  const script = layOver(sound(0), periods, span);
  script.forEach(({ endMs }, index) => {
    if (endMs !== (script[index + 1]?.startMs ?? span.endMs)) throw new Error(`a gap after ${endMs}`);
  });
  return script.map(({ startMs, strayShare }) => [startMs, strayShare]);
}

test('without periods a location behaves the same all the time', (t) => {
  t.deepEqual(drawn([]), [[0, 0]]);
});

test('periods in any order override it, without gaps', (t) => {
  t.deepEqual(drawn([period(60, 70, 0.6), period(10, 20, 0.1)]), [
    [0, 0],
    [10, 0.1],
    [20, 0],
    [60, 0.6],
    [70, 0],
  ]);
});

test('of overlapping periods the later one in the list applies', (t) => {
  t.deepEqual(drawn([period(10, 50, 0.1), period(20, 30, 0.2)]), [
    [0, 0],
    [10, 0.1],
    [20, 0.2],
    [30, 0.1],
    [50, 0],
  ]);
  t.deepEqual(drawn([period(20, 30, 0.2), period(10, 50, 0.1)]), [
    [0, 0],
    [10, 0.1],
    [20, 0.1],
    [30, 0.1],
    [50, 0],
  ]);
});

test('periods outside the history are dropped, and overlapping ones are clipped', (t) => {
  t.deepEqual(drawn([period(-20, -10, 0.1), period(-10, 10, 0.2), period(90, 120, 0.3), period(100, 110, 0.4)]), [
    [0, 0.2],
    [10, 0],
    [90, 0.3],
  ]);
});
