import { quote } from '../foreign-text.ts';
import type { CheckTarget } from '../monitors/monitor.ts';
import { judgeDns } from './dns/judge.ts';
import { judgeDomain } from './domain/observation.ts';
import type { PatternSearch } from './http/assertion-check.ts';
import { HttpJudging } from './http/judge.ts';
import { judgeIcmp } from './icmp/observation.ts';
import { overBudget, type Judging } from './judging.ts';
import type { Observation } from './observation.ts';
import { judgeTcp, judgeUdp } from './transport/observation.ts';
import { judgeVendor } from './vendor/observation.ts';
import type { Judgement } from './verdict.ts';

/** What a check has observed of its target, to be judged. */
export type ObservedCheck = { target: CheckTarget; observation: Observation; search: PatternSearch };

/** Begins the judging of an observation of any type. */
export function beginJudging(observed: ObservedCheck): Judging {
  const { target, observation, search } = observed;
  return observation.type === 'http' ? new HttpJudging({ target, observation, search }) : judgeAtOnce(observed);
}

/** The verdict on an observation of any type; `none` where the type cannot be checked here (D-20). */
export function judgeObservation(observed: ObservedCheck): Judgement {
  const judging = beginJudging(observed);
  judging.run();
  return judging.judged().judgement;
}

/** Judges what has one condition at the most: broken off, it begins anew. */
function judgeAtOnce(observed: ObservedCheck): Judging {
  let judgement: Judgement | null = null;
  return {
    run() {
      judgement ??= judgeOther(observed);
    },
    judged() {
      if (judgement !== null) return { judgement, conditions: [], isOverBudget: false };
      const { transport } = observed.target.checkSpec;
      if (transport === undefined)
        return overBudget(
          `its ${observed.target.type === 'vendor' ? 'components' : 'records'}`,
          'expect fewer of them',
        );
      return overBudget(`the expected response ${quote(transport.expect ?? '')}`, 'simplify the pattern');
    },
  };
}

function judgeOther({ target, observation, search }: ObservedCheck): Judgement {
  switch (observation.type) {
    case 'tcp':
      return judgeTcp({ target, observation, search });
    case 'udp':
      return judgeUdp({ target, observation, search });
    case 'icmp':
      return judgeIcmp({ target, observation });
    case 'vendor':
      return judgeVendor({ target, observation });
    case 'dns':
      return judgeDns({ target, observation });
    case 'domain':
      return judgeDomain({ target, observation });
    case 'unsupported':
      return {
        verdict: 'none',
        cause: 'unsupported',
        reason: `Monitors of type ${observation.monitorType} cannot be checked here`,
      };
    case 'http':
      throw new TypeError('An http observation has conditions of its own');
    default:
      return observation satisfies never;
  }
}
