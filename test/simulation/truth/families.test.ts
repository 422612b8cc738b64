import test from 'ava';
import { simulateFamilies } from '../../../simulation/truth/families.ts';

test('alerts behind a parent keep the promises of a hold', async (t) => {
  const scores = await simulateFamilies(t, { seed: 1, families: 1, names: ['hasty', 'child', 'recovering'] });
  for (const { scenario, score } of scores)
    t.deepEqual(
      Object.entries(score.broken).filter(([, ids]) => ids.length > 0),
      [],
      scenario.name,
    );
  const [hasty, child, recovering] = scores.map(({ score }) => score);
  t.like(hasty, { joined: 3, byThemselves: 0 });
  t.like(child, { joined: 0, byThemselves: 1 });
  t.is(recovering?.byThemselves, 1);
  t.is(recovering?.afterMs.length, 1);
});
