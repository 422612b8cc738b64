import type { Change } from '../incidents/change.ts';
import { applyResult } from '../incidents/monitor-state.ts';
import type { DecidedMonitor } from '../incidents/quorum.ts';
import { stepSource, type StreakRule, type VotedResult } from '../incidents/source-state.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { MonitorType } from '../monitors/monitor.ts';
import { DAY_MS, HOUR_MS, toUnixSeconds } from '../time.ts';
import { buildMonitorMessage, type MonitorMessage } from './envelope.ts';

/** A monitor as it was when its drill began, with the locations that have to answer. */
export type DrilledMonitor = {
  no: number;
  id: string;
  name: string;
  type: MonitorType;
  target: string;
  quorum: number;
  sources: readonly { agentNo: number; name: string }[];
};

/** A location's answer in a drill: it failed, or it works again. `atMs` is in Unix milliseconds. */
export type DrillAnswer = { agentNo: number; verdict: 'down' | 'up'; atMs: number };

/** Progress of a drill: locations fail, channels are notified, it has ended, or it caused no alert. */
export type DrillStatus = 'failing' | 'alerted' | 'ended' | 'failed';

/** Why a channel was not notified of a drill, or of its end. */
export type SkipReason = 'rules' | 'quiet_hours' | 'mute' | 'maintenance' | 'outage';
export type SkippedChannel = { channelId: string; event: 'monitor.down' | 'monitor.up'; reason: SkipReason };

/** Time from a drill's alert to its end, in milliseconds. */
export const DRILL_LASTS_MS = 30_000;

/** Time without a quorum of answers after which a drill fails, in milliseconds. */
export const DRILL_FAILS_AFTER_MS = 60_000;

/** Time after which an overdue end is made without the locations, in milliseconds. */
export const DRILL_ENDS_ANYWAY_MS = 30_000;

/** Cause code of a drill's alert. */
export const DRILL_CAUSE = 'drill';

/** Each answer decides its location's vote by itself (D-547). No answer is stale within an hour. */
const RULE: StreakRule = { downAfterFailures: 1, upAfterSuccesses: 1, intervalSeconds: HOUR_MS / 1000 };

/**
 * Decides a drill by the rules of real results: a monitor that is up everywhere, with these answers in order. Returns
 * the resulting state and the last change, null if there was none.
 */
export function decideDrill(
  monitor: Pick<DrilledMonitor, 'quorum' | 'sources'>,
  { startedAtMs, answers, nowMs }: { startedAtMs: number; answers: readonly DrillAnswer[]; nowMs: number },
): { state: MonitorState; change: Change | null } {
  let after = beforeDrill(monitor, startedAtMs);
  let last: Change | null = null;
  let newestMs = startedAtMs;
  for (const answer of answers) {
    // Clocks of two processes may differ: answers keep the order in which they arrived.
    newestMs = Math.max(newestMs + 1, answer.atMs);
    const applied = applyResult(after, { ...resultOf(answer, newestMs), agentNo: answer.agentNo }, nowMs);
    after = applied.monitor;
    last = applied.change ?? last;
  }
  return { state: after.state, change: last };
}

function beforeDrill(
  { quorum, sources }: Pick<DrilledMonitor, 'quorum' | 'sources'>,
  startedAtMs: number,
): DecidedMonitor {
  const good = resultOf({ verdict: 'up' }, startedAtMs);
  return {
    ...RULE,
    state: 'up',
    stateSinceMs: startedAtMs,
    waitsForPings: true,
    quorum,
    sources: sources.map(({ agentNo, name }) => ({
      agentNo,
      name,
      online: true,
      newestAtMs: startedAtMs,
      state: stepSource(null, good, RULE),
    })),
  };
}

function resultOf({ verdict }: Pick<DrillAnswer, 'verdict'>, dueAtMs: number): VotedResult {
  return {
    dueAtMs,
    checksVersion: 1,
    verdict,
    cause: verdict === 'up' ? null : DRILL_CAUSE,
    reason: null,
    httpStatus: null,
    latencyMs: null,
    phases: null,
    answer: null,
  };
}

/**
 * Returns the first moment after `nowMs` that is whole months after `fromMs`, by UTC, both Unix milliseconds. A day
 * missing from a month is replaced by its last one.
 */
export function nextMonthMs(fromMs: number, nowMs: number): number {
  const from = new Date(fromMs);
  const now = new Date(nowMs);
  const months = 12 * (now.getUTCFullYear() - from.getUTCFullYear()) + now.getUTCMonth() - from.getUTCMonth();
  const next = addMonths(from, Math.max(1, months));
  return next > nowMs ? next : addMonths(from, months + 1);
}

function addMonths(from: Date, months: number): number {
  const first = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, 1));
  const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  return first.getTime() + (Math.min(from.getUTCDate(), days) - 1) * DAY_MS + (from.getTime() % DAY_MS);
}

type DrillFacts = {
  drill: { id: string; incidentId: string; startedAtMs: number; endsAtMs: number };
  monitor: DrilledMonitor;
  change: Change;
  /** Present state of the monitor itself; null if it was deleted. */
  monitorState: MonitorState | null;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/** Builds the message of a drill's alert, or of its end: a monitor's message that is clearly marked as a drill. */
export function buildDrillMessage({ drill, monitor, change, monitorState, publicUrl }: DrillFacts): MonitorMessage {
  const isEnd = change.to === 'up';
  return {
    ...buildMonitorMessage({
      event: isEnd ? 'monitor.up' : 'monitor.down',
      monitor,
      change: { ...change, reason: isEnd ? describeEnd(monitorState) : ALERT },
      // As in tests: 0 precedes every transition, so that no receiver drops a real event because of a drill.
      sequence: 0,
      incident: { id: drill.incidentId, startedAtMs: drill.startedAtMs },
      culprits: [],
      publicUrl,
    }),
    drill: { id: drill.id, ends_at: toUnixSeconds(drill.endsAtMs) },
  };
}

const ALERT = 'This is a drill. The monitor has not failed, and no action is needed: the drill ends by itself';

function describeEnd(monitorState: MonitorState | null): string {
  const end = 'The drill has ended. It was a drill, and nothing had failed';
  if (monitorState === null) return `${end}. The monitor was deleted meanwhile`;
  return monitorState === 'up' ? end : `${end}. The monitor itself is ${monitorState} now`;
}
