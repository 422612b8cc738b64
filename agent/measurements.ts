import {
  UNSUPPORTED_BY_AGENT,
  type AgentAnswer,
  type AgentResult,
  type AgentResultDetail,
} from '../core/agents/wire.ts';
import type { Observation } from '../core/checks/observation.ts';
import type { Timings, Vote } from '../core/checks/verdict.ts';
import type { AnswerEvidence } from '../core/incidents/evidence.ts';
import { DAY_MS } from '../core/time.ts';
import type { Checked } from '../probes/checker.ts';

/** A check of a monitor, as it counts. */
type Measurement = { monitorId: string } & Omit<Checked, 'conditions'>;

/** Converts a measurement into the service's form. No vote is reported as such, with its reason. */
export function resultOf({ monitorId, startedAtMs, observation, judgement, answer }: Measurement): AgentResult {
  const { verdict, cause, reason } = judgement;
  const latencyMs = observation?.latencyMs ?? null;
  const measured = detailOf(observation, startedAtMs);
  const detail = answer !== null ? { ...measured, answer: answerOf(answer) } : measured;
  return {
    monitorId,
    ok: verdict === 'up' || verdict === 'degraded',
    cause: verdict === 'none' ? UNSUPPORTED_BY_AGENT : cause,
    latencyMs: latencyMs === null ? null : Math.round(latencyMs),
    httpStatus: observation?.type === 'http' && observation.outcome === 'answered' ? observation.status : null,
    ...(verdict === 'degraded' && { degraded: true }),
    ts: startedAtMs / 1000,
    ...(reason !== null && { reason }),
    ...(detail !== null && { detail }),
  };
}

/** Returns further measured values; null if there are none. */
function detailOf(observation: Observation | null, nowMs: number): AgentResultDetail | null {
  switch (observation?.type) {
    case 'http':
      return {
        timing: timingOf(observation.timings),
        ...(observation.certificate && validityOf(observation.certificate.validTo, nowMs)),
      };
    case 'tcp':
      return { timing: timingOf(observation.timings) };
    case 'udp':
      return observation.dnsMs === null ? null : { timing: { dnsMs: readable(observation.dnsMs) } };
    case 'icmp':
      return observation.outcome === 'measured'
        ? {
            ping: {
              sent: observation.sent,
              received: observation.received,
              rttMs: observation.latencyMs === null ? null : readable(observation.latencyMs),
            },
          }
        : null;
    default:
      return null;
  }
}

/** Converts the evidence; the status has a separate field in a result. */
function answerOf({ headers, body, bodyWithheld }: AnswerEvidence): AgentAnswer {
  return { headers, ...(body !== null && { body }), ...(bodyWithheld !== undefined && { bodyWithheld }) };
}

function validityOf(notAfter: number, nowMs: number): AgentResultDetail {
  return { notAfter, daysRemaining: Math.floor((notAfter * 1000 - nowMs) / DAY_MS) };
}

/** Returns the timings without steps that did not happen. */
function timingOf(timings: Timings): Record<string, number> {
  const taken = Object.entries(timings).filter((entry): entry is [string, number] => entry[1] !== null);
  return Object.fromEntries(taken.map(([name, ms]) => [name, readable(ms)]));
}

/** Rounds to tenths of a millisecond: further digits are noise. */
function readable(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Events since the last summary, for its log line. */
type Summary = {
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

/** Counts the agent's events. */
type Tally = {
  checked: (verdict: Vote, latenessMs: number) => void;
  sent: (results: number) => void;
  /** Results that were dropped because too many waited, or for too long. */
  dropped: (results: number) => void;
  /** Results that the service does not accept. */
  declined: (results: number) => void;
  /** Returns the counts so far and resets them. Lateness is the actual start of a probe minus the planned one. */
  take: () => Summary;
};

/** Maximum samples of lateness: beyond this many checks a minute the first ones are representative. */
const MAX_SAMPLES = 5000;

/** Creates the counts of one agent. */
export function createTally(): Tally {
  let verdicts = { up: 0, degraded: 0, down: 0, none: 0 };
  let counts = { checks: 0, sent: 0, dropped: 0, declined: 0 };
  let lateness: number[] = [];
  return {
    checked(verdict, latenessMs) {
      counts.checks += 1;
      verdicts[verdict] += 1;
      if (lateness.length < MAX_SAMPLES) lateness.push(Math.max(0, latenessMs));
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
