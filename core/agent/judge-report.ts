import { cleanText } from '../clean-text.ts';
import type { Vote } from '../verdict.ts';
import type { Inability } from './capability.ts';
import { describeCause } from './cause-sentence.ts';
import type { Report } from './read-ingest.ts';
import { UNSUPPORTED_BY_AGENT } from './wire.ts';

/** What an agent's report says of the target; the cause may be one that only its maker knows. */
export type ReportedJudgement = { verdict: Vote; cause: string | null; reason: string | null };

/** Causes that say that the agent could not measure: no vote, as when our own probes say so (D-20). */
const NO_VOTE = new Set([
  UNSUPPORTED_BY_AGENT,
  'unsupported',
  'blocked_target',
  'icmp_unavailable',
  'icmp_socket',
  'bad_request',
]);

/** Longest cause and sentence of an agent, in characters: what the evaluator keeps. */
const MAX_CAUSE = 64;
const MAX_REASON = 500;

/** Why what an agent that cannot run a monitor says of it is no vote. */
const INABILITIES = {
  capability: (agent) => `The agent ${agent} does not say that it can check this type of monitor`,
  no_key: (agent) => `The agent ${agent} showed no key to seal the secrets of this monitor to`,
  other_key: (agent) =>
    `The agent ${agent} shows another key than the one that it first came with, so that the secrets of this ` +
    'monitor are withheld: a new token lets it start anew',
} satisfies Record<Inability, (agent: string) => string>;

/**
 * The verdict that a report stands for. `inability` is why the agent cannot have run the check as it is (null = it
 * can): then its word is no vote.
 */
export function judgeReport(report: Report, agent: { name: string; inability: Inability | null }): ReportedJudgement {
  if (agent.inability !== null)
    return { verdict: 'none', cause: UNSUPPORTED_BY_AGENT, reason: INABILITIES[agent.inability](agent.name) };
  if (report.ok && !report.degraded) return { verdict: 'up', cause: null, reason: null };
  const cause = (report.cause !== null && cleanText(report.cause, MAX_CAUSE)) || null;
  return { verdict: verdictOf(report.ok, cause), cause, reason: reasonOf(report, { cause, name: agent.name }) };
}

function verdictOf(ok: boolean, cause: string | null): Vote {
  if (ok) return 'degraded';
  return cause !== null && NO_VOTE.has(cause) ? 'none' : 'down';
}

function reasonOf(report: Report, { cause, name }: { cause: string | null; name: string }): string {
  const own = report.reason !== null && cleanText(report.reason, MAX_REASON);
  if (own) return own;
  if (cause === UNSUPPORTED_BY_AGENT) return `The agent ${name} cannot run this check`;
  if (cause !== null) return describeCause(cause, name);
  return report.ok ? `The agent ${name} reported that it works, but not well` : `The agent ${name} reported a failure`;
}
