import { toStoredAnswers } from '../../core/checks/dns/stored-answers.ts';
import type { Observation } from '../../core/checks/observation.ts';
import type { ScheduleSlot } from '../../core/checks/schedule.ts';
import { planStart, startOffsetMs } from '../../core/checks/slots.ts';
import { storesTimings, timingsOf } from '../../core/incidents/failure-evidence.ts';
import type { DueCheck } from '../../models/checks/checks.ts';
import type { Checked, Checker, CheckRequest } from '../../probes/checker.ts';
import type { CheckOutcome, ResultPayload } from '../../queues/payloads.ts';
import type { ResultBatcher } from './result-batcher.ts';
import { createTickQueue, type LimiterQueue, type Tick } from './tick-queue.ts';

/**
 * A finished check, for metrics, the debug log and certificates; the observation is null where there was none. Lateness
 * is the start minus the due time, in milliseconds.
 */
export type CompletedCheck = {
  check: DueCheck;
  result: ResultPayload;
  observation: Observation | null;
  latenessMs: number;
};

export type CheckDependencies = {
  checker: Checker;
  batcher: ResultBatcher;
  now: () => number;
  onCheck: (completed: CompletedCheck) => void;
};

export type TickDependencies = CheckDependencies & {
  listDueChecks: (entry: ScheduleSlot) => Promise<DueCheck[]>;
  limiter: LimiterQueue;
  /** Resolves at the given moment (Unix milliseconds), at once when it is past. */
  waitUntil: (atMs: number) => Promise<void>;
  /**
   * Called, as soon as that is known, where a tick of an agent was left out or comes when the next one is due: its
   * checks may not be counted as dropped for long.
   */
  onBehind?: (agentNo: number) => void;
};

/** Monitors named in a job's outcome; the board shows them. */
const MOST_NAMED = 20;

/** An operator's mistake that can be mended, and no fault of the target's. */
const UNREADABLE = 'The secrets of this monitor cannot be read with the present SECRET_KEYS';

/**
 * Makes the work of one tick: reads who stands in the slot, starts each probe at its own due time, hands the results
 * on. Where more is due than can be run, a slot waits in the line, and is then checked for its newest tick.
 */
export function createTickRunner(
  dependencies: TickDependencies,
): (entry: ScheduleSlot, slotBeginsAtMs: number) => Promise<CheckOutcome> {
  const { limiter, listDueChecks, now, onBehind } = dependencies;
  const tickQueue = createTickQueue(limiter);
  const waiting: WaitingChecks = new Map();
  return async (entry, slotBeginsAtMs) => {
    const reportLateness = (beganAtMs: number) => {
      if (now() - beganAtMs >= entry.intervalSeconds * 1000) onBehind?.(entry.agentNo);
    };
    reportLateness(slotBeginsAtMs);
    const begun = await tickQueue(slotKey(entry), slotBeginsAtMs, async (tick) => {
      reportLateness(tick.slotBeginsAtMs);
      const due = await listDueChecks(entry);
      return {
        passedOver: tick.passedOver * due.length,
        outcomes: due.map((check) => runOnTime(check, { entry, tick, waiting }, dependencies)),
      };
    });
    if (begun === null) {
      onBehind?.(entry.agentNo);
      return summarise([]);
    }
    const outcomes = await Promise.all(begun.outcomes);
    return summarise(outcomes, begun.passedOver);
  };
}

/**
 * Makes the work of one recheck job: claims the monitors of the agent that wait for it, some at a time until none is
 * left, and starts their probes at once.
 */
export function createRecheckRunner(
  claimRechecks: (agentNo: number) => Promise<DueCheck[]>,
  dependencies: CheckDependencies,
): (agentNo: number) => Promise<CheckOutcome> {
  return async (agentNo) => {
    const outcomes: CheckedOutcome[] = [];
    for (let due = await claimRechecks(agentNo); due.length > 0; due = await claimRechecks(agentNo)) {
      outcomes.push(
        ...(await Promise.all(
          due.map((check) =>
            runCheck({ check, agentNo, dueAtMs: dependencies.now(), intervalSeconds: null }, dependencies),
          ),
        )),
      );
    }
    return summarise(outcomes);
  };
}

/**
 * A check and the moment for which it is planned; `intervalSeconds` is null for a recheck between two ticks: a good one
 * stores no timings.
 */
type Due = { check: DueCheck; agentNo: number; dueAtMs: number; intervalSeconds: number | null };

/** Checks that wait in the limiter, by agent and monitor. */
type WaitingChecks = Map<string, Due>;

type CheckedOutcome = { name: string; result: ResultPayload } | null;

/**
 * Null when the tick came so late that the next one is nearer, or the check before still waits in the limiter: that one
 * is then made for this tick. One that waited in the queue is run at once: those that come after it wait there too.
 */
async function runOnTime(
  check: DueCheck,
  { entry, tick, waiting }: { entry: ScheduleSlot; tick: Tick; waiting: WaitingChecks },
  dependencies: TickDependencies,
): Promise<CheckedOutcome> {
  const { intervalSeconds, agentNo } = entry;
  const dueAtMs = tick.slotBeginsAtMs + startOffsetMs(intervalSeconds, check.monitorNo);
  const startAtMs = tick.hasWaited
    ? dueAtMs
    : planStart({ dueAtMs, intervalMs: intervalSeconds * 1000, monitorNo: check.monitorNo }, dependencies.now());
  if (startAtMs === null) return null;
  await dependencies.waitUntil(startAtMs);
  const due: Due = { check, agentNo, dueAtMs, intervalSeconds };
  const key = `${agentNo} ${check.monitorNo}`;
  const before = waiting.get(key);
  if (before !== undefined) {
    if (dueAtMs > before.dueAtMs) Object.assign(before, due);
    dependencies.onBehind?.(agentNo);
    return null;
  }
  waiting.set(key, due);
  return await runCheck(due, dependencies, () => waiting.delete(key));
}

async function runCheck(
  due: Due,
  { checker, batcher, now, onCheck }: CheckDependencies,
  onBegin?: () => void,
): Promise<CheckedOutcome> {
  const checked = await checker.check(due.check.tenantId, () => {
    onBegin?.();
    return requestOf(due.check);
  });
  // While it waited, it may have become the check of a newer tick.
  const { check, dueAtMs } = due;
  const result = toResult(due, checked, now());
  const { startedAtMs, observation } = checked;
  onCheck({ check, result, observation, latenessMs: startedAtMs - dueAtMs });
  await batcher.add(result, result.verdict !== 'up' || !check.isUp);
  return { name: check.name, result };
}

function requestOf({ target, monitorId, monitorNo, checksVersion, badVote, hasItsSecrets }: DueCheck): CheckRequest {
  const identity = `${monitorNo} ${checksVersion}`;
  return { target, inability: hasItsSecrets ? null : UNREADABLE, monitorId, identity, badVote };
}

function toResult(
  { check, agentNo, dueAtMs, intervalSeconds }: Due,
  { observation, judgement, answer }: Checked,
  finishedAtMs: number,
): ResultPayload {
  const { verdict, cause, reason } = judgement;
  const latencyMs = observation?.latencyMs ?? null;
  const isStored = storesTimings({ verdict, dueAtMs }, intervalSeconds ?? 0);
  const dnsAnswers = isStored ? toStoredAnswers(observation) : undefined;
  return {
    monitorNo: check.monitorNo,
    agentNo,
    checksVersion: check.checksVersion,
    dueAtMs,
    finishedAtMs,
    verdict,
    cause,
    reason,
    latencyMs: latencyMs === null ? null : Math.round(latencyMs),
    httpStatus: observation?.type === 'http' && observation.outcome === 'answered' ? observation.status : null,
    phases: isStored ? timingsOf(observation) : null,
    answer,
    ...(dnsAnswers && { dnsAnswers }),
  };
}

function slotKey({ agentNo, intervalSeconds, slot }: ScheduleSlot): string {
  return `${agentNo} ${intervalSeconds} ${slot}`;
}

/** `passedOver` checks are of ticks that waited so long that newer ones superseded them. */
function summarise(outcomes: readonly CheckedOutcome[], passedOver = 0): CheckOutcome {
  const done = outcomes.filter((outcome) => outcome !== null);
  const count = (verdict: ResultPayload['verdict']) => done.filter(({ result }) => result.verdict === verdict).length;
  return {
    checks: done.length,
    up: count('up'),
    degraded: count('degraded'),
    down: count('down'),
    none: count('none'),
    dropped: outcomes.length - done.length + passedOver,
    monitors: done
      .slice(0, MOST_NAMED)
      .map(({ name, result }) => `${name}: ${result.verdict}${result.reason === null ? '' : `, ${result.reason}`}`),
  };
}
