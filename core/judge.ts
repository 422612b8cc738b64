import type { PatternSearch } from './http/assertion-check.ts';
import { judgeDns } from './dns/judge.ts';
import { judgeDomain } from './domain/judge.ts';
import { judgeHttp } from './http/judge.ts';
import { judgeIcmp } from './icmp/judge.ts';
import { judgeTcp } from './transport/judge-tcp.ts';
import { judgeUdp } from './transport/judge-udp.ts';
import { judgeVendor } from './vendor/judge.ts';
import type { CheckTarget } from './monitor.ts';
import type { Observation } from './observation.ts';
import type { Judgement } from './verdict.ts';

/** The verdict on an observation of any type; `none` where the type cannot be probed here (D-20). */
export function judgeObservation({ target, observation, search }: { target: CheckTarget; observation: Observation; search: PatternSearch }): Judgement {
  switch (observation.type) {
    case 'http':
      return judgeHttp({ target, observation, search });
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
      return { verdict: 'none', cause: 'unsupported', reason: `Monitors of type ${observation.monitorType} cannot be probed here` };
    default:
      return observation satisfies never;
  }
}
