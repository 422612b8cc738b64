import test from 'ava';
import { createScorer } from '../../../simulation/truth/score.ts';
import type { Notified } from '../../../simulation/truth/simulation.ts';

const HOUR_MS = 3_600_000;

/** Returns a change that was decided 30 s after its time. */
function change(to: Notified['to'], atSecond: number): Notified {
  return { from: 'up', to, atMs: atSecond * 1000, detectedAtMs: (atSecond + 30) * 1000 };
}

function scoreOf(notified: readonly Notified[], outages: readonly [startSecond: number, endSecond: number][]) {
  const scorer = createScorer();
  scorer.add(
    {
      startMs: 0,
      endMs: HOUR_MS,
      faults: outages.map(([start, end]) => ({ startMs: start * 1000, endMs: end * 1000, kind: 'outage' })),
    },
    notified,
  );
  return scorer.score();
}

test('a down that overlaps no outage is false', (t) => {
  t.like(scoreOf([change('up', 0), change('down', 100), change('up', 160), change('down', 1000)], [[500, 600]]), {
    hours: 1,
    falseDowns: 2,
  });
});

test('a down that is decided just after a short outage is correct', (t) => {
  const { falseDowns, kinds } = scoreOf([change('down', 505)], [[500, 510]]);
  t.is(falseDowns, 0);
  t.deepEqual(kinds['outage'], { count: 1, found: 1, alerts: 1, delaysMs: { p50: 35_000, p95: 35_000, max: 35_000 } });
});

test('an outage reported several times is found once, and one never reported is missed', (t) => {
  const { falseDowns, kinds } = scoreOf(
    [change('down', 510), change('up', 550), change('down', 560), change('up', 650)],
    [
      [500, 600],
      [2000, 2010],
    ],
  );
  t.is(falseDowns, 0);
  t.like(kinds['outage'], { count: 2, found: 1, alerts: 2 });
});

test('an outage of a monitor that is already down counts as found, without a delay', (t) => {
  const { falseDowns, kinds } = scoreOf([change('down', 400)], [[500, 600]]);
  t.is(falseDowns, 1);
  t.deepEqual(kinds['outage'], { count: 1, found: 1, alerts: 0, delaysMs: null });
});

test('unknown time lasts from its decision to the next one, or to the end', (t) => {
  t.is(scoreOf([change('unknown', 100), change('up', 160), change('unknown', 3500)], []).unknownMs, 60_000 + 70_000);
});
