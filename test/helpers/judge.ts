import { HttpJudging } from '../../core/checks/http/judge.ts';
import { beginJudging } from '../../core/checks/judge.ts';
import type { Judging } from '../../core/checks/judging.ts';
import type { Judgement } from '../../core/checks/verdict.ts';

/** Returns the verdict on one http observation, without a budget. */
export function judgeHttp(check: ConstructorParameters<typeof HttpJudging>[0]): Judgement {
  return finish(new HttpJudging(check));
}

/** Returns the verdict on an observation of any type, without a budget. */
export function judgeObservation(observed: Parameters<typeof beginJudging>[0]): Judgement {
  return finish(beginJudging(observed));
}

function finish(judging: Judging): Judgement {
  judging.run();
  return judging.judged().judgement;
}
