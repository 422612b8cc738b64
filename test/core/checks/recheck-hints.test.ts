import test from 'ava';
import { hintRecheck } from '../../../core/checks/recheck.ts';
import type { VotedResult } from '../../../core/incidents/source-state.ts';

const SOURCE = { state: null, rule: { downAfterFailures: 3, upAfterSuccesses: 1, intervalSeconds: 60 } };

const at = (dueAtMs: number, verdict: VotedResult['verdict']): VotedResult => ({
  dueAtMs,
  checksVersion: 1,
  verdict,
  cause: null,
  reason: null,
  httpStatus: null,
  latencyMs: null,
  phases: null,
  answer: null,
});

test('of results that come together the newest decides whether to recheck, once the others were applied', (t) => {
  t.is(hintRecheck(SOURCE, []), null);
  t.is(hintRecheck(SOURCE, [at(1, 'down')]), 20_000);
  t.is(hintRecheck(SOURCE, [at(2, 'down'), at(1, 'down')]), 20_000);
  t.is(hintRecheck(SOURCE, [at(3, 'down'), at(1, 'down'), at(2, 'down')]), null, 'the third makes it bad');
  t.is(hintRecheck(SOURCE, [at(1, 'down'), at(2, 'down'), at(3, 'up')]), null);
  t.is(hintRecheck(SOURCE, [at(3, 'down'), at(2, 'up'), at(1, 'down')]), 20_000);
});
