import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/figures.ts';
import { EARLY_MS, planStart, slotStartMs } from '../../core/checks/slots.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { createHttpProbe } from '../../probes/http.ts';
import type { ResultPayload } from '../../queues/payloads.ts';
import { judgeObservation } from '../../test/helpers/judge.ts';
import { RESULT_BATCH, ResultBatcher } from '../../workers/checks/result-batcher.ts';
import { createRandom, type Random } from '../truth/random.ts';
import { MovedAccount, type Arriving, type Decision, type Leaving, type Taken } from './moved-account.ts';
import { Schedule, type Scheduled } from './plan.ts';

/** A cell and its part in the run. Times are Unix milliseconds. */
export type CellSettings = {
  name: string;
  accounts: readonly number[];
  intervalSeconds: number;
  seed: number;
  /** One check in this many is a probe over HTTP. */
  realEvery: number;
  /** Base URLs of probes, each ending with a slash. */
  targets: readonly string[];
  /** Whether the first account leaves, another cell's comes, or neither. */
  move: 'leaves' | 'comes' | null;
};

/** Start and end of the run, and when the account's decisions are frozen and its schedule moves. */
export type RunTimes = { startMs: number; freezeMs: number; flipMs: number; endMs: number };

/** Figures of a cell's run. */
export type CellFigures = {
  name: string;
  accounts: number;
  monitors: number;
  slots: { used: number; fewest: number; most: number };
  checks: number;
  real: number;
  /** Real probes that were not up, by cause. */
  failures: Map<string, number>;
  dropped: number;
  batches: number;
  results: number;
  bytes: number;
  /** Checks by second of the run. */
  bySecond: number[];
  lateness: { p50: number; p99: number; most: number };
  cpuSeconds: number;
  /** Figures of the account that moves: when each of its monitors was checked, and the decisions about them. */
  moved: { startsMs: number[][]; taken: Taken[][]; rechecks: number; decisions: Decision[] } | null;
};

/** Never called: the monitors have no patterns. */
const NO_SEARCH = (): boolean => false;

/** Number of the only agent of a cell. */
const AGENT_NO = 1;

/** Average duration of simulated probes, in milliseconds. */
const MEAN_LATENCY_MS = 80;

/**
 * A cell's scheduling and its results, in real time: monitors in slots, ticks, due times and batches by the service's
 * own code. Only one probe in `realEvery` is real; PostgreSQL and the queue are left out.
 */
export class SimulatedCell {
  readonly #settings: CellSettings;
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #probe = createHttpProbe({ allowPrivateNetwork: true });
  readonly #batcher: ResultBatcher;
  readonly #account: MovedAccount | null;
  readonly #ticks = new Map<number, Promise<void>>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #lateness: number[] = [];
  readonly #bySecond: number[] = [];
  readonly #failures = new Map<string, number>();
  readonly #counts = { checks: 0, real: 0, dropped: 0, batches: 0, results: 0, bytes: 0 };
  #times: RunTimes = { startMs: 0, freezeMs: 0, flipMs: 0, endMs: 0 };
  #cpuAtStart = process.threadCpuUsage();

  constructor(settings: CellSettings) {
    const { intervalSeconds, accounts, move, seed } = settings;
    this.#settings = settings;
    this.#schedule = new Schedule(intervalSeconds);
    this.#random = createRandom([seed, ...Buffer.from(settings.name)]);
    this.#account = move === null ? null : new MovedAccount(intervalSeconds);
    this.#batcher = new ResultBatcher({
      ...RESULT_BATCH,
      submit: async (results) => this.#submit(results),
      now: Date.now,
      pause: (ms) => delay(ms),
    });
    for (const [index, monitors] of accounts.entries())
      for (let count = 0; count < monitors; count += 1) {
        const scheduled = this.#schedule.add();
        if (move === 'leaves' && index === 0) this.#account?.add(scheduled);
      }
  }

  /** Runs until the end. `onLeaving` is called at the flip, in the cell that the account leaves. */
  async run(times: RunTimes, onLeaving: (leaving: Leaving) => void): Promise<CellFigures> {
    this.#times = times;
    this.#cpuAtStart = process.threadCpuUsage();
    for (const slot of this.#schedule.occupancy().keys()) this.#begin(slot, times.startMs);
    if (this.#settings.move === 'leaves') await this.#leave(onLeaving);
    await waitUntil(times.endMs);
    await Promise.all(this.#ticks.values());
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    return this.#figures();
  }

  /**
   * Puts the account's monitors into the slots that they had, under new numbers, and schedules the rechecks that they
   * need.
   */
  takeSchedule({ slots, oldOffsetsMs }: Arriving): void {
    const { flipMs, endMs } = this.#times;
    for (const [index, slot] of slots.entries()) {
      const scheduled = this.#schedule.add(slot);
      const recheckMs = this.#account?.arrive(scheduled, { oldOffsetMs: oldOffsetsMs[index] ?? 0, flipMs }) ?? null;
      if (recheckMs !== null && recheckMs < endMs) this.#follow(this.#recheck(scheduled, recheckMs));
    }
    // The tick in progress is not read again, as after the job of a new slot.
    const unreadMs = Date.now() + EARLY_MS + this.#settings.intervalSeconds * 1000;
    for (const slot of new Set(slots)) this.#begin(slot, unreadMs);
  }

  /** Takes over the states of the account's monitors, and the results that wait for a decision. */
  takeStates(leaving: Extract<Leaving, { kind: 'states' }>): void {
    this.#account?.takeStates(leaving);
  }

  async #leave(onLeaving: (leaving: Leaving) => void): Promise<void> {
    const account = this.#account;
    if (account === null) return;
    await waitUntil(this.#times.freezeMs);
    account.freeze();
    await waitUntil(this.#times.flipMs);
    onLeaving({ kind: 'schedule', ...account.leave() });
    for (const scheduled of account.list()) this.#schedule.remove(scheduled);
    // Checks that were due before are in flight, or their results are in an open batch.
    await delay(RESULT_BATCH.maxDelayMs);
    while (account.underWay > 0) await delay(50);
    onLeaving({ kind: 'states', ...account.takeLeaving() });
  }

  #follow(work: Promise<unknown>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  /** Starts one loop for each slot, in place of its job scheduler. */
  #begin(slot: number, fromMs: number): void {
    if (!this.#ticks.has(slot)) this.#ticks.set(slot, this.#runSlot(slot, fromMs));
  }

  async #runSlot(slot: number, fromMs: number): Promise<void> {
    const everyMs = this.#settings.intervalSeconds * 1000;
    const inIntervalMs = slotStartMs(this.#settings.intervalSeconds, slot);
    let beginsMs = Math.floor((fromMs - inIntervalMs) / everyMs) * everyMs + inIntervalMs;
    for (; beginsMs < this.#times.endMs; beginsMs += everyMs) {
      await waitUntil(beginsMs - EARLY_MS);
      this.#follow(this.#runTick(slot, beginsMs));
    }
  }

  async #runTick(slot: number, beginsMs: number): Promise<void> {
    const intervalMs = this.#settings.intervalSeconds * 1000;
    const { startMs, endMs } = this.#times;
    const checks = this.#schedule.listSlot(slot).flatMap((scheduled) => {
      const dueAtMs = beginsMs + scheduled.offsetMs;
      if (dueAtMs < startMs || dueAtMs >= endMs || !this.#isHere(scheduled, dueAtMs)) return [];
      const startsMs = planStart({ dueAtMs, intervalMs, monitorNo: scheduled.no }, Date.now());
      if (startsMs === null) this.#counts.dropped += 1;
      return startsMs === null ? [] : [{ scheduled, dueAtMs, startsMs }];
    });
    for (const { scheduled, dueAtMs, startsMs } of checks.toSorted((a, b) => a.startsMs - b.startsMs)) {
      if (startsMs > Date.now()) await waitUntil(startsMs);
      this.#check(scheduled, dueAtMs);
    }
  }

  /** Reports whether this cell makes a check: the old cell if it is due before the flip, otherwise the new one. */
  #isHere(scheduled: Scheduled, dueAtMs: number): boolean {
    if (this.#account?.has(scheduled) !== true) return true;
    return this.#settings.move === 'leaves' ? dueAtMs < this.#times.flipMs : dueAtMs >= this.#times.flipMs;
  }

  async #recheck(scheduled: Scheduled, atMs: number): Promise<void> {
    await waitUntil(atMs);
    this.#check(scheduled, Math.max(atMs, Date.now()));
  }

  #check(scheduled: Scheduled, dueAtMs: number): void {
    const nowMs = Date.now();
    const second = Math.floor((nowMs - this.#times.startMs) / 1000);
    this.#bySecond[second] = (this.#bySecond[second] ?? 0) + 1;
    this.#counts.checks += 1;
    this.#lateness.push(Math.max(0, nowMs - dueAtMs));
    this.#account?.recordStart(scheduled, nowMs);
    const isReal = scheduled.no % this.#settings.realEvery === 0;
    this.#follow(isReal ? this.#probeTarget(scheduled, dueAtMs) : this.#draw(scheduled, dueAtMs));
  }

  async #probeTarget(scheduled: Scheduled, dueAtMs: number): Promise<void> {
    const { targets } = this.#settings;
    const target = targetOf(`${targets[scheduled.no % targets.length]}${scheduled.no}`);
    this.#counts.real += 1;
    const observation = await this.#probe(target);
    const { verdict, cause } = judgeObservation({ target, observation, search: NO_SEARCH });
    if (verdict !== 'up') this.#failures.set(cause ?? verdict, (this.#failures.get(cause ?? verdict) ?? 0) + 1);
    await this.#add(scheduled, { dueAtMs, latencyMs: Math.round(observation.latencyMs ?? 0) });
  }

  async #draw(scheduled: Scheduled, dueAtMs: number): Promise<void> {
    await this.#add(scheduled, { dueAtMs, latencyMs: Math.round(this.#random.exponential(MEAN_LATENCY_MS)) });
  }

  async #add(scheduled: Scheduled, measured: { dueAtMs: number; latencyMs: number }): Promise<void> {
    const verdict = this.#account?.scriptedVerdict(scheduled, { ...measured, ...this.#times }) ?? 'up';
    const isUp = verdict === 'up';
    const result: ResultPayload = {
      monitorNo: scheduled.no,
      agentNo: AGENT_NO,
      checksVersion: 1,
      ...measured,
      finishedAtMs: Date.now(),
      verdict,
      cause: isUp ? null : 'status',
      reason: isUp ? null : 'status 503, expected 2xx',
      httpStatus: isUp ? 200 : 503,
      phases: null,
      answer: null,
    };
    await this.#batcher.add(result, !isUp);
  }

  #submit(results: readonly ResultPayload[]): void {
    this.#counts.batches += 1;
    this.#counts.results += results.length;
    this.#counts.bytes += JSON.stringify(results).length;
    for (const result of results) this.#account?.take(result);
  }

  #figures(): CellFigures {
    const { name, accounts } = this.#settings;
    const occupied = [...this.#schedule.occupancy().values()];
    const lateAt = (share: number) => percentile(this.#lateness, share);
    const { user, system } = process.threadCpuUsage(this.#cpuAtStart);
    return {
      name,
      accounts: accounts.length,
      monitors: occupied.reduce((sum, monitors) => sum + monitors, 0),
      slots: { used: occupied.length, fewest: Math.min(...occupied), most: Math.max(...occupied) },
      ...this.#counts,
      failures: this.#failures,
      bySecond: Array.from(this.#bySecond, (checks) => checks ?? 0),
      lateness: { p50: lateAt(0.5), p99: lateAt(0.99), most: lateAt(1) },
      cpuSeconds: (user + system) / 1_000_000,
      moved: this.#account?.figures() ?? null,
    };
  }
}

/** Resolves at a moment in Unix milliseconds, at once if it is past. */
async function waitUntil(atMs: number): Promise<void> {
  await delay(Math.max(0, atMs - Date.now()));
}

function targetOf(url: string): CheckTarget {
  return {
    type: 'http',
    target: url,
    timeoutMs: 10_000,
    method: 'GET',
    expectedStatus: '2xx',
    bodyMatch: null,
    followRedirects: true,
    checkSpec: {},
    secrets: {},
  };
}
