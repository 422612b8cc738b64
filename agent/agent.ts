import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { AgentCapability, IngestAnswer } from '../core/agents/wire.ts';
import { traceOf } from '../core/checks/trace-context.ts';
import type { Vote } from '../core/checks/verdict.ts';
import { HOUR_MS, within } from '../core/time.ts';
import { Checker } from '../probes/checker.ts';
import { Judge } from '../probes/judging/judge.ts';
import type { Probe } from '../probes/probe.ts';
import type { SelfCheck } from '../probes/self-check.ts';
import { StallWatch } from '../probes/stall-watch.ts';
import { CheckIn, ConnectionStatus, Reachability } from './check-in.ts';
import { Clock } from './clock.ts';
import type { Entry, Journal } from './journal.ts';
import { createTally, resultOf } from './measurements.ts';
import { Outbox, type OutboxEvent } from './outbox.ts';
import type { PullOutcome, ServiceClient } from './service-client.ts';
import { createWorkReader, type Assignment, type KeyPair, type SavedWork, type WorkFile } from './work.ts';

/** The probe of this machine, and its capabilities. */
export type MachineProbe = { probe: Probe; capabilities: AgentCapability[]; close: () => Promise<void> };

export type AgentParts = {
  keys: KeyPair;
  workFile: WorkFile;
  saved: SavedWork | null;
  journal: Journal;
  waiting: readonly Entry[];
  machine: MachineProbe;
  /** Null if bad results are never suspect (D-48). */
  selfCheck: SelfCheck | null;
  client: ServiceClient;
  log: Logger;
  settings: {
    pullSeconds: number;
    bufferResults: number;
    bufferHours: number;
    concurrency: number;
    version: string;
    arch: string;
  };
};

/** Maximum wait for running probes, in milliseconds: the longest takes 10 s. */
const PROBES_END_WITHIN_MS = 12_000;
const LAST_FLUSH_WITHIN_MS = 5000;

const SUMMARY_EVERY_MS = 60_000;

/** Connects the agent's parts: checks in, runs its checks, and sends the results. */
export class Agent {
  readonly #parts: AgentParts;
  readonly #tally = createTally();
  readonly #judge = new Judge();
  readonly #checker: Checker;
  readonly #readWork;
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #checkIn: CheckIn;
  readonly #reachability;
  readonly #connection;
  readonly #refused = Promise.withResolvers<void>();
  /**
   * The last result of each current monitor: another up changes nothing, and another failure of the same kind is not a
   * first one.
   */
  readonly #newest = new Map<string, { assignment: Assignment; verdict: Vote }>();
  #monitors = 0;
  #summing: NodeJS.Timeout | undefined;

  constructor(parts: AgentParts) {
    const { client, keys, machine, saved, log, settings } = parts;
    const moments = { now: Date.now, random: Math.random, wake };
    this.#parts = parts;
    this.#readWork = createWorkReader(keys);
    this.#checker = new Checker({
      probe: machine.probe,
      judge: this.#judge,
      stallWatch: new StallWatch(),
      selfCheck: parts.selfCheck,
      now: Date.now,
      aheadMs: () => this.#connection.aheadMs,
      onCrash: (error, monitorId) => log.error({ err: error, monitor_id: monitorId }, 'check.crashed'),
    });
    this.#clock = new Clock({
      ...moments,
      run: (assignment, plannedAtMs) => this.#run(assignment, plannedAtMs),
      concurrency: settings.concurrency,
    });
    this.#outbox = new Outbox({
      ...moments,
      monotonic: () => performance.now(),
      journal: parts.journal,
      waiting: parts.waiting,
      maxResults: settings.bufferResults,
      maxAgeMs: settings.bufferHours * HOUR_MS,
      send: client.ingest,
      onEvent: (event) => this.#handleEvent(event),
    });
    this.#checkIn = new CheckIn({
      ...moments,
      pull: client.pull,
      request: {
        capabilities: machine.capabilities,
        version: settings.version,
        arch: settings.arch,
        publicKey: keys.publicKey,
      },
      pullSeconds: settings.pullSeconds,
      etag: saved?.etag ?? null,
      onOutcome: (outcome) => this.#deal(outcome),
    });
    this.#connection = new ConnectionStatus(log, Date.now);
    this.#reachability = new Reachability({
      now: Date.now,
      onAway: (reason) => log.warn({ reason }, 'service.away'),
      onBack: (awayMs) =>
        log.info({ away_seconds: Math.round(awayMs / 1000), buffered: this.#outbox.waiting }, 'service.back'),
    });
  }

  /** Resolves when the service refuses the token before it has ever accepted it. */
  get refused(): Promise<void> {
    return this.#refused.promise;
  }

  /** Continues the work of an earlier run, and checks in. */
  async start(): Promise<void> {
    const { saved, log } = this.#parts;
    if (saved !== null) {
      await this.#assign(saved);
      log.info({ monitors: this.#monitors }, 'work.restored');
    }
    this.#checkIn.start();
    this.#summing = setInterval(() => this.#summarise(), SUMMARY_EVERY_MS);
  }

  /**
   * Starts no new check, waits for running probes, sends waiting results and stores the rest; both waits are bounded.
   */
  async stop(): Promise<void> {
    clearInterval(this.#summing);
    this.#checkIn.stop();
    await within(PROBES_END_WITHIN_MS, this.#clock.stop(), null);
    await this.#judge.close();
    await this.#outbox.close(LAST_FLUSH_WITHIN_MS);
    this.#summarise();
  }

  async #run(assignment: Assignment, plannedAtMs: number): Promise<void> {
    const { monitorId, sourceKey } = assignment;
    // All monitors are one customer's, so each is its own account here.
    const traceAt = (startedAtMs: number) => traceOf({ monitorId, sourceId: sourceKey, dueAtMs: startedAtMs }, sha256);
    const checked = await this.#checker.check(monitorId, { ...assignment, badVote: null, traceAt });
    const measurement = { monitorId, ...checked };
    // The monitor was removed or edited meanwhile.
    if (!this.#clock.isCurrent(assignment)) return;
    const { startedAtMs, judgement } = measurement;
    const { verdict, cause } = judgement;
    const latenessMs = startedAtMs - plannedAtMs;
    this.#tally.checked(verdict, latenessMs);
    const before = this.#newest.get(monitorId);
    // Only the first failure carries its response; an edited monitor starts over.
    const isFirst = before?.assignment !== assignment || before.verdict !== verdict;
    this.#outbox.add(resultOf(isFirst ? measurement : { ...measurement, answer: null }), {
      isUrgent: verdict !== 'up' || before?.verdict !== 'up',
    });
    this.#newest.set(monitorId, { assignment, verdict });
    const { log } = this.#parts;
    if (log.isLevelEnabled('debug'))
      log.debug({ monitor_id: monitorId, outcome: verdict, cause, lateness_ms: latenessMs }, 'check.completed');
  }

  async #deal(outcome: PullOutcome): Promise<boolean> {
    switch (outcome.outcome) {
      case 'work':
        return await this.#takeOver({ answer: outcome.answer, etag: outcome.etag }, outcome.serverTimeMs);
      case 'unchanged':
        this.#welcome(this.#parts.saved?.answer.agentId, outcome.serverTimeMs);
        await this.#parts.workFile.confirm().catch((error: unknown) => this.#logWorkFileError(error));
        return true;
      case 'unauthorized':
        await this.#refuse();
        return true;
      case 'failed':
        this.#reachability.failed('pull', outcome.reason);
        return true;
      default:
        return outcome satisfies never;
    }
  }

  async #takeOver(work: SavedWork, serverTimeMs: number | null): Promise<boolean> {
    const { log, workFile } = this.#parts;
    try {
      await this.#assign(work);
    } catch (error) {
      log.error({ err: error }, 'work.not_taken');
      return false;
    }
    const refused = work.answer.work.filter(({ secretsWithheld }) => secretsWithheld === 'other_key').length;
    if (refused > 0) log.warn({ monitors: refused }, 'key.refused');
    log.debug({ monitors: this.#monitors }, 'work.taken');
    this.#welcome(work.answer.agentId, serverTimeMs);
    await workFile.save(work).catch((error: unknown) => this.#logWorkFileError(error));
    return true;
  }

  async #assign({ answer }: SavedWork): Promise<void> {
    const assignments = await this.#readWork(answer.work);
    this.#clock.assign(assignments);
    this.#monitors = assignments.length;
    const current = new Set(assignments.map(({ monitorId }) => monitorId));
    for (const monitorId of this.#newest.keys()) if (!current.has(monitorId)) this.#newest.delete(monitorId);
  }

  /** Handles a check-in that the service accepted. */
  #welcome(agentId: string | undefined, serverTimeMs: number | null): void {
    this.#connection.welcomed({
      agentId,
      monitors: this.#monitors,
      capabilities: this.#parts.machine.capabilities,
      serverTimeMs,
    });
    this.#outbox.hold(false);
    if (this.#reachability.succeeded('pull')) this.#outbox.retryNow();
  }

  /** Stops measuring for a service that refuses the agent; earlier results wait in the buffer. */
  async #refuse(): Promise<void> {
    this.#outbox.hold(true);
    this.#clock.assign([]);
    this.#monitors = 0;
    await this.#parts.workFile.remove().catch((error: unknown) => this.#logWorkFileError(error));
    if (!this.#connection.refused()) this.#refused.resolve();
  }

  #handleEvent(event: OutboxEvent): void {
    const { log } = this.#parts;
    switch (event.kind) {
      case 'accepted':
        if (this.#reachability.succeeded('ingest')) this.#checkIn.retryNow();
        this.#tally.sent(event.answer.accepted);
        this.#logDeclined(event.answer);
        return;
      case 'failed':
        this.#reachability.failed('ingest', event.reason);
        return;
      case 'unauthorized':
        this.#checkIn.hasten();
        return;
      case 'refused':
        this.#tally.declined(1);
        log.error({ result: withoutAnswer(event.line), reason: event.reason }, 'result.refused');
        return;
      case 'dropped':
        this.#tally.dropped(event.results);
        return;
      case 'replayed':
        log.info({ results: event.results }, 'results.replayed');
        return;
      case 'recheck':
        this.#clock.recheck(event.monitorId, event.atMs);
        return;
      default:
        event satisfies never;
    }
  }

  /** Logs declined results. They are normal for monitors that were just removed, but a wrong clock is not. */
  #logDeclined({ dropped = 0, droppedBecause }: IngestAnswer): void {
    if (dropped === 0) return;
    this.#tally.declined(dropped);
    const { future = 0, tooOld = 0, notAssigned = 0, tooMany = 0 } = droppedBecause ?? {};
    const fields = { not_assigned: notAssigned, future, too_old: tooOld, too_many: tooMany };
    // The work has changed meanwhile.
    if (notAssigned > 0) this.#checkIn.hasten();
    if (future > 0)
      this.#parts.log.warn(
        { ...fields, reason: "This machine's clock is ahead of the service's by more than a minute" },
        'results.declined',
      );
    else this.#parts.log.info(fields, 'results.declined');
  }

  #summarise(): void {
    const summary = this.#tally.take();
    const { log } = this.#parts;
    if (summary.dropped > 0) log.warn({ results: summary.dropped }, 'buffer.dropped');
    log.info({ monitors: this.#monitors, ...summary, buffered: this.#outbox.waiting }, 'agent.summary');
  }

  #logWorkFileError(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'work.not_saved');
  }
}

/** Returns the SHA-256 in hex. */
function sha256(text: string): string {
  return hash('sha256', text);
}

/** Returns a result for the log, without the target's response. */
function withoutAnswer(line: string): string {
  return JSON.stringify(JSON.parse(line, (key, value) => (key === 'answer' ? undefined : value)));
}

function wake(afterMs: number, call: () => void): () => void {
  const timer = setTimeout(call, afterMs);
  return () => clearTimeout(timer);
}
