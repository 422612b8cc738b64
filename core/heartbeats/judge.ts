import type { Judgement } from '../checks/verdict.ts';
import { quote } from '../quoted.ts';
import type { HeartbeatSettings } from './deadlines.ts';
import type { HeartbeatObservation, HeartbeatOutcome } from './observation.ts';

type Judge = (observation: HeartbeatObservation, settings: HeartbeatSettings) => Judgement;

const UP: Judgement = { verdict: 'up', cause: null, reason: null };

const JUDGES = {
  success: () => UP,
  exit: (observation) =>
    observation.exitStatus === 0 ? UP : failed(`The job ended with exit status ${observation.exitStatus}`, observation),
  fail: (observation) => failed('The job reported a failure', observation),
  missed: (_observation, { intervalSeconds, graceSeconds }) => ({
    verdict: 'down',
    cause: 'heartbeat_missed',
    reason: `No ping came in time: one is expected every ${intervalSeconds} s and may be ${graceSeconds} s late`,
  }),
  overrun: (_observation, { maxDurationSeconds }) => {
    const within = maxDurationSeconds === null ? 'in time' : `within ${maxDurationSeconds} s`;
    return { verdict: 'down', cause: 'heartbeat_overrun', reason: `The job was started and did not end ${within}` };
  },
} as const satisfies Record<HeartbeatOutcome, Judge>;

/**
 * The verdict on one observation of a heartbeat (D-29): up for an end that was good, down for everything else. The
 * settings speak in the reason.
 */
export function judgeHeartbeat({
  observation,
  settings,
}: {
  observation: HeartbeatObservation;
  settings: HeartbeatSettings;
}): Judgement {
  const judge: Judge = JUDGES[observation.outcome];
  return judge(observation, settings);
}

/** What the job wrote is its owner's own text to its owner, and mostly says why. */
function failed(sentence: string, { firstLine }: HeartbeatObservation): Judgement {
  return {
    verdict: 'down',
    cause: 'heartbeat_failed',
    reason: firstLine === null ? sentence : `${sentence}: ${quote(firstLine)}`,
  };
}
