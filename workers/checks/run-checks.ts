import type { Logger } from 'pino';
import { toStoredAnswers } from '../../core/checks/dns/judge.ts';
import { planStart, startOffsetMs, type ScheduleSlot } from '../../core/checks/slots.ts';
import { isBad } from '../../core/checks/verdict.ts';
import { storesTimings, timingsOf } from '../../core/incidents/evidence.ts';
import type { FailedCheck } from '../../core/system/otlp.ts';
import type { DueCheck } from '../../models/checks/checks.ts';
import type { PlannedRecheck } from '../../models/checks/schedule.ts';
import { traceIdsOf } from '../../models/secrets/ids.ts';
import type { CheckRequest, Checked, Checker } from '../../probes/checker.ts';
import type { CheckOutcome, ResultPayload } from '../../queues/payloads.ts';
import type { ThrottledRecorder } from '../runtime.ts';
import type { WorkerMetrics } from '../system/metrics.ts';
import type { CertificateRecorder } from './certificate-recorder.ts';
import { TickQueue, type ConcurrencyLimiter, type Tick } from './concurrency-limiter.ts';
import type { ResultBatcher } from './result-batcher.ts';

export type CheckRunnerParts = {
  /** Returns the enabled monitors of a slot. */
  listDueChecks: (slot: ScheduleSlot) => Promise<DueCheck[]>;
  /** Claims some of an agent's monitors that wait for a recheck; returns none when there are no more. */
  claimRechecks: (agentNo: number) => Promise<DueCheck[]>;
  /** Leaves checks to the process that next claims them. */
  scheduleRechecks: (rechecks: readonly PlannedRecheck[]) => Promise<void>;
  limiter: Pick<ConcurrencyLimiter, 'enter' | 'leave' | 'isFull' | 'waitForRoom'>;
  checker: Checker;
  batcher: Pick<ResultBatcher, 'add'>;
  certificates: Pick<CertificateRecorder, 'record'>;
  /** Records agents with more checks than time, as soon as that is known, so that dropped checks are counted. */
  behind: Pick<ThrottledRecorder<number>, 'record'>;
  metrics: Pick<WorkerMetrics, 'checkCompleted'>;
  /** Sends the span of a failed check; null if spans are not sent. */
  recordFailedCheck: ((check: FailedCheck) => void) | null;
  /** The source of these checks. */
  source: TracedSource;
  log: Pick<Logger, 'debug' | 'isLevelEnabled'>;
  now: () => number;
  /** Resolves at the given time (Unix milliseconds), at once if it is past or checks must not start any more. */
  waitUntil: (atMs: number) => Promise<void>;
  /** Once aborted, no check starts. */
  stopping: AbortSignal;
};

/** The agent whose checks are run, as traces and incidents name it. */
export type TracedSource = { id: string; name: string };

/** Maximum monitors named in a job's outcome, which the board shows. */
const MAX_NAMED = 20;

/** An operator's mistake that can be fixed, not the target's fault. */
const UNREADABLE = 'The secrets of this monitor cannot be decrypted with the current SECRET_KEYS';

/**
 * A check and its planned time; `intervalSeconds` is null for a recheck between two ticks: a good one stores no
 * timings. `isOwed`: no tick that returns to the queue covers it, as for a recheck, and for a tick whose job is over
 * because an older one runs it.
 */
type PlannedCheck = {
  check: DueCheck;
  agentNo: number;
  dueAtMs: number;
  intervalSeconds: number | null;
  isOwed: boolean;
};

/** A check that had not started when the process was to stop. */
class NotBegun {
  readonly planned: PlannedCheck;

  constructor(planned: PlannedCheck) {
    this.planned = planned;
  }
}

type CompletedCheck = { name: string; result: ResultPayload };

/** Null if the check was skipped. */
type CheckedOutcome = CompletedCheck | NotBegun | null;

/**
 * Runs the checks of a region: lists due monitors, waits for the due time and the turn, checks, passes the result on.
 */
export class CheckRunner {
  readonly #parts: CheckRunnerParts;
  readonly #ticks: TickQueue;
  /** Checks of ticks that wait in the limiter, by agent and monitor. */
  readonly #waiting = new Map<string, PlannedCheck>();

  constructor(parts: CheckRunnerParts) {
    this.#parts = parts;
    this.#ticks = new TickQueue(parts.limiter);
  }

  /**
   * Runs a tick: every monitor of the slot is checked at its own due time. Under overload the tick waits, and is then
   * run as the newest of its slot. Null if a stop kept some of its checks from starting: another process must run it.
   */
  async runTick(slot: ScheduleSlot, slotBeginsAtMs: number): Promise<CheckOutcome | null> {
    this.#recordIfLate(slot, slotBeginsAtMs);
    const begun = await this.#ticks.readInTurn(slotKey(slot), slotBeginsAtMs, async (tick) => {
      this.#recordIfLate(slot, tick.slotBeginsAtMs);
      return { tick, due: await this.#parts.listDueChecks(slot) };
    });
    if (begun === null) {
      this.#recordBehind(slot.agentNo);
      return summarise([]);
    }
    const { tick, due } = begun;
    const outcomes = await Promise.all(due.map((check) => this.#checkOnTime(check, slot, tick)));
    const completed = await this.#keepBegun(outcomes);
    return completed.length < outcomes.length ? null : summarise(completed, tick.passedOver * due.length);
  }

  /**
   * Claims the agent's monitors that wait for a recheck, some at a time until none is left, and checks them. Null after
   * a stop: another process must continue.
   */
  async runRechecks(agentNo: number): Promise<CheckOutcome | null> {
    const { claimRechecks, now, stopping } = this.#parts;
    const completed: (CompletedCheck | null)[] = [];
    while (!stopping.aborted) {
      const due = await claimRechecks(agentNo);
      if (due.length === 0) return summarise(completed);
      const outcomes = await Promise.all(
        due.map((check) => this.#check({ check, agentNo, dueAtMs: now(), intervalSeconds: null, isOwed: true })),
      );
      completed.push(...(await this.#keepBegun(outcomes)));
    }
    return null;
  }

  /** Returns the outcomes of started checks; of the others, owed ones are scheduled for another process from now on. */
  async #keepBegun(outcomes: readonly CheckedOutcome[]): Promise<(CompletedCheck | null)[]> {
    const owed = outcomes.flatMap((outcome) =>
      outcome instanceof NotBegun && outcome.planned.isOwed ? [outcome.planned] : [],
    );
    const atMs = this.#parts.now();
    if (owed.length > 0)
      await this.#parts.scheduleRechecks(
        owed.map(({ check, agentNo }) => ({ monitorNo: check.monitorNo, agentNo, atMs })),
      );
    return outcomes.filter((outcome): outcome is CompletedCheck | null => !(outcome instanceof NotBegun));
  }

  /**
   * Runs a check at its time. Null if the tick is so late that the next one is nearer, or the monitor's previous check
   * still waits.
   */
  async #checkOnTime(check: DueCheck, slot: ScheduleSlot, tick: Tick): Promise<CheckedOutcome> {
    const { agentNo, intervalSeconds } = slot;
    const dueAtMs = tick.slotBeginsAtMs + startOffsetMs(intervalSeconds, check.monitorNo);
    // A tick that waited in the queue runs at once: later ones wait there too.
    const startAtMs = tick.hasWaited
      ? dueAtMs
      : planStart({ dueAtMs, intervalMs: intervalSeconds * 1000, monitorNo: check.monitorNo }, this.#parts.now());
    if (startAtMs === null) return null;
    await this.#parts.waitUntil(startAtMs);
    const planned: PlannedCheck = { check, agentNo, dueAtMs, intervalSeconds, isOwed: tick.passedOver > 0 };
    if (this.#parts.stopping.aborted) return new NotBegun(planned);
    const key = `${agentNo} ${check.monitorNo}`;
    if (this.#joinWaiting(key, planned)) return null;
    this.#waiting.set(key, planned);
    return await this.#check(planned, key);
  }

  /** Returns true if the monitor's previous check still waits in the limiter: that one is then made for this tick. */
  #joinWaiting(key: string, planned: PlannedCheck): boolean {
    const before = this.#waiting.get(key);
    if (before === undefined) return false;
    if (planned.dueAtMs > before.dueAtMs) Object.assign(before, planned);
    before.isOwed = true;
    this.#recordBehind(planned.agentNo);
    return true;
  }

  async #check(planned: PlannedCheck, waitingKey?: string): Promise<CheckedOutcome> {
    // The observation is not kept while the result waits for its batch.
    const checked = await this.#checkInTurn(planned, waitingKey);
    if (checked === null) return new NotBegun(planned);
    const { check, result } = checked;
    await this.#parts.batcher.add(result, result.verdict !== check.steadyVerdict);
    return { name: check.name, result };
  }

  /** Null if a stop came before its turn. */
  async #checkInTurn(planned: PlannedCheck, waitingKey: string | undefined) {
    const { limiter, checker, now, stopping } = this.#parts;
    const account = planned.check.tenantId;
    await limiter.enter(account);
    if (stopping.aborted) {
      limiter.leave(account);
      return null;
    }
    const { check, request, measured } = await this.#measure(planned, waitingKey).finally(() => limiter.leave(account));
    const checked = await checker.confirm(request, measured);
    const result = toResult(planned, checked, now());
    this.#recordCompleted(planned, checked, result);
    return { check, result };
  }

  async #measure(planned: PlannedCheck, waitingKey: string | undefined) {
    if (waitingKey !== undefined) this.#waiting.delete(waitingKey);
    // Read only now: while it waited, it may have become the check of a newer tick.
    const { check } = planned;
    const request = requestOf(planned, this.#parts.source);
    return { check, request, measured: await this.#parts.checker.measure(check.tenantId, request) };
  }

  #recordCompleted(planned: PlannedCheck, checked: Checked, result: ResultPayload): void {
    const { check, agentNo, dueAtMs } = planned;
    const { certificates, metrics, log, source } = this.#parts;
    const latenessMs = checked.startedAtMs - dueAtMs;
    certificates.record({ check, agentNo, observation: checked.observation });
    metrics.checkCompleted({ type: check.target.type, verdict: result.verdict, region: source.name, latenessMs });
    this.#recordFailed(planned, checked, result);
    if (!log.isLevelEnabled('debug')) return;
    log.debug(
      {
        monitor_id: check.monitorId,
        outcome: result.verdict,
        cause: result.cause,
        duration_ms: result.latencyMs,
        lateness_ms: latenessMs,
        http_status: result.httpStatus,
      },
      'check.completed',
    );
  }

  #recordFailed({ check, dueAtMs }: PlannedCheck, checked: Checked, result: ResultPayload): void {
    const { recordFailedCheck, source } = this.#parts;
    const { verdict, cause, reason, httpStatus, finishedAtMs } = result;
    if (recordFailedCheck === null || !isBad(verdict)) return;
    const { startedAtMs, observation } = checked;
    const latencyMs = observation?.latencyMs ?? null;
    const { monitorId, tenantId, name, target } = check;
    recordFailedCheck({
      ids: traceIdsOf({ monitorId, sourceId: source.id, dueAtMs }),
      tenantId,
      monitor: { id: monitorId, name, type: target.type, target: target.target, method: target.method },
      source,
      startedAtMs,
      endedAtMs: latencyMs === null ? finishedAtMs : startedAtMs + latencyMs,
      timings: result.phases,
      httpStatus,
      verdict,
      cause,
      reason,
    });
  }

  /** Records the agent as behind as soon as a tick is a whole interval late: dropped checks are counted much later. */
  #recordIfLate({ agentNo, intervalSeconds }: ScheduleSlot, slotBeganAtMs: number): void {
    if (this.#parts.now() - slotBeganAtMs >= intervalSeconds * 1000) this.#recordBehind(agentNo);
  }

  #recordBehind(agentNo: number): void {
    void this.#parts.behind.record(agentNo, this.#parts.now());
  }
}

function requestOf({ check, dueAtMs }: PlannedCheck, source: TracedSource): CheckRequest {
  const { target, monitorId, monitorNo, checksVersion, badVote, hasItsSecrets } = check;
  const identity = `${monitorNo} ${checksVersion}`;
  const traceAt = () => traceIdsOf({ monitorId, sourceId: source.id, dueAtMs });
  return { target, inability: hasItsSecrets ? null : UNREADABLE, monitorId, identity, badVote, traceAt };
}

function toResult(
  { check, agentNo, dueAtMs, intervalSeconds }: PlannedCheck,
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

/** Summarizes outcomes; `passedOver` checks are those of ticks that newer ones superseded while they waited. */
function summarise(outcomes: readonly (CompletedCheck | null)[], passedOver = 0): CheckOutcome {
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
      .slice(0, MAX_NAMED)
      .map(({ name, result }) => `${name}: ${result.verdict}${result.reason === null ? '' : `, ${result.reason}`}`),
  };
}
