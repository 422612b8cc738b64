import type { PatternSearch } from './assertion-check.ts';
import { judgeHttp } from './judge-http.ts';
import type { CheckTarget } from './monitor.ts';
import type { Observation } from './observation.ts';
import type { Judgement } from './verdict.ts';

/** The verdict on an observation of any type; `none` where the type cannot be probed here (D-20). */
export function judgeObservation({ target, observation, search }: { target: CheckTarget; observation: Observation; search: PatternSearch }): Judgement {
  switch (observation.type) {
    case 'http':
      return judgeHttp({ target, observation, search });
    case 'unsupported':
      return { verdict: 'none', cause: 'unsupported', reason: `Monitors of type ${observation.monitorType} cannot be probed here` };
    default:
      return observation satisfies never;
  }
}
