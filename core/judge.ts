import { judgeDns } from './dns/judge.ts';
import { judgeDomain } from './domain/judge.ts';
import type { PatternSearch } from './http/assertion-check.ts';
import { HttpJudging } from './http/judge.ts';
import { judgeIcmp } from './icmp/judge.ts';
import { overBudget, type Judging } from './judging.ts';
import type { CheckTarget } from './monitor.ts';
import type { Observation } from './observation.ts';
import { quote } from './quoted.ts';
import { judgeTcp } from './transport/judge-tcp.ts';
import { judgeUdp } from './transport/judge-udp.ts';
import { judgeVendor } from './vendor/judge.ts';
import type { Judgement } from './verdict.ts';

/** What a check has seen of its target, to be judged. */
export type SeenCheck = { target: CheckTarget; observation: Observation; search: PatternSearch };

/** Begins the judging of an observation of any type. */
export function beginJudging(seen: SeenCheck): Judging {
  const { target, observation, search } = seen;
  return observation.type === 'http' ? new HttpJudging({ target, observation, search }) : judgeAtOnce(seen);
}

/** The verdict on an observation of any type; `none` where the type cannot be probed here (D-20). */
export function judgeObservation(seen: SeenCheck): Judgement {
  const judging = beginJudging(seen);
  judging.run();
  return judging.judged().judgement;
}

/** Judges what has one condition at the most: broken off, it begins anew. */
function judgeAtOnce(seen: SeenCheck): Judging {
  let judgement: Judgement | null = null;
  return {
    run() {
      judgement ??= judgeOther(seen);
    },
    judged() {
      if (judgement !== null) return { judgement, conditions: [], isOverBudget: false };
      const { transport } = seen.target.checkSpec;
      if (transport === undefined)
        return overBudget(`its ${seen.target.type === 'vendor' ? 'components' : 'records'}`, 'expect fewer of them');
      return overBudget(`the expected answer ${quote(transport.expect ?? '')}`, 'simplify the pattern');
    },
  };
}

function judgeOther({ target, observation, search }: SeenCheck): Judgement {
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
        reason: `Monitors of type ${observation.monitorType} cannot be probed here`,
      };
    case 'http':
      throw new TypeError('An http observation has conditions of its own');
    default:
      return observation satisfies never;
  }
}
