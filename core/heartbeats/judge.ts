import { UP, type Judgement } from '../checks/verdict.ts';
import { quote } from '../foreign-text.ts';
import type { HeartbeatSettings } from './deadlines.ts';
import { sayZonedMoment } from './schedule.ts';

type Judge = (observation: HeartbeatObservation, settings: HeartbeatSettings) => Judgement;

const JUDGES = {
  success: () => UP,
  exit: (observation) =>
    observation.exitStatus === 0 ? UP : failed(`The job ended with exit status ${observation.exitStatus}`, observation),
  fail: (observation) => failed('The job reported a failure', observation),
  missed: ({ startedAt }, { intervalSeconds, graceSeconds, schedule }) => {
    const expected =
      schedule === null
        ? `every ${formatSpan(intervalSeconds)}`
        : `at ${sayZonedMoment(startedAt - graceSeconds * 1000, schedule.timezone)}`;
    return {
      verdict: 'down',
      cause: 'heartbeat_missed',
      reason: `No ping came in time: expected ${expected}, grace period ${formatSpan(graceSeconds)}`,
    };
  },
  overrun: (_observation, { maxDurationSeconds }) => {
    const within = maxDurationSeconds === null ? 'in time' : `within ${formatSpan(maxDurationSeconds)}`;
    return { verdict: 'down', cause: 'heartbeat_overrun', reason: `The job did not finish ${within}` };
  },
} as const satisfies Record<HeartbeatOutcome, Judge>;

/**
 * Judges one observation of a heartbeat (D-29): up for a good end, down for everything else. The reason names the
 * settings.
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

/** Formats whole seconds without rounding: `1 h 30 min`, `45 s`. */
function formatSpan(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const named = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`);
  return named.length === 0 ? '0 s' : named.join(' ');
}

/** The job's output is its owner's own text, shown to its owner, and mostly explains the failure. */
function failed(sentence: string, { firstLine }: HeartbeatObservation): Judgement {
  return {
    verdict: 'down',
    cause: 'heartbeat_failed',
    reason: firstLine === null ? sentence : `${sentence}: ${quote(firstLine)}`,
  };
}

/**
 * Outcomes of a heartbeat: an end of its job (success, failure, exit status), a missed ping, a run that takes too long.
 */
type HeartbeatOutcome = 'success' | 'fail' | 'exit' | 'missed' | 'overrun';

/** Facts of one outcome (D-29). */
export type HeartbeatObservation = {
  type: 'heartbeat';
  outcome: HeartbeatOutcome;
  /** Unix milliseconds: when the ping arrived, or the deadline that passed without one. */
  startedAt: number;
  /** Duration of the run that the ping ended, in milliseconds; null if no start was reported before it. */
  latencyMs: number | null;
  /** 0 to 255, only for `exit`. */
  exitStatus: number | null;
  /** First line of the job's output; null if there is none. */
  firstLine: string | null;
};
