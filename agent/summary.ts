import type { Vote } from '../core/checks/verdict.ts';

/** What happened since the last summary, for the one line that tells of it. */
export type Summary = {
  checks: number;
  up: number;
  degraded: number;
  down: number;
  none: number;
  sent: number;
  dropped: number;
  declined: number;
  lateness_p99_ms: number;
};

/** Counts what the agent does. */
export type Tally = {
  checked: (verdict: Vote, latenessMs: number) => void;
  sent: (results: number) => void;
  /** Results that had to go because too many waited, or too long. */
  dropped: (results: number) => void;
  /** Results that the service does not take in. */
  declined: (results: number) => void;
  /** The counts so far, which begin anew. Lateness is the start of a probe minus the moment it was planned for. */
  take: () => Summary;
};

/** Beyond this many checks a minute those counted first are enough to tell of lateness. */
const MOST_SAMPLES = 5000;

/** Makes the counts of one agent. */
export function createTally(): Tally {
  let verdicts = { up: 0, degraded: 0, down: 0, none: 0 };
  let counts = { checks: 0, sent: 0, dropped: 0, declined: 0 };
  let lateness: number[] = [];
  return {
    checked(verdict, latenessMs) {
      counts.checks += 1;
      verdicts[verdict] += 1;
      if (lateness.length < MOST_SAMPLES) lateness.push(Math.max(0, latenessMs));
    },
    sent: (results) => void (counts.sent += results),
    dropped: (results) => void (counts.dropped += results),
    declined: (results) => void (counts.declined += results),
    take() {
      const sorted = lateness.toSorted((a, b) => a - b);
      const summary = { ...counts, ...verdicts, lateness_p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 };
      verdicts = { up: 0, degraded: 0, down: 0, none: 0 };
      counts = { checks: 0, sent: 0, dropped: 0, declined: 0 };
      lateness = [];
      return summary;
    },
  };
}
