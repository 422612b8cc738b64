import { tickMoment } from '../../core/checks/slots.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import type { Agent } from '../../models/agents/agents.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { claimRechecks } from '../../models/checks/checks.ts';
import { replaceParents } from '../../models/monitors/dependencies.ts';
import { runOn, type Run } from '../../models/sql.ts';
import { NOTHING_MORE } from '../../notifications/attempt-result.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import { resultOf, type TestRuntime } from '../../test/helpers/runtime.ts';
import { ChannelLanes } from '../../workers/alerts/channel-lanes.ts';
import { Deliverer } from '../../workers/alerts/deliver.ts';
import { watchParents } from '../../workers/alerts/join-parents.ts';
import { createEvaluator } from '../../workers/incidents/evaluate.ts';
import type { Stretch } from './beginning.ts';
import type { Family } from './family-scenario.ts';
import { createLocation, makeCheck, nextCheckMs, type Check, type Location } from './location.ts';
import { createRandom } from './random.ts';
import { DEFAULT_SETTING, timeoutMs } from './setting.ts';

/** Environment of a family's simulation: a real database, and agents that check its monitors. */
export type FamilyGround = { runtime: TestRuntime; agents: readonly Agent[] };

/** An alert of trouble as it was written, and its outcome. Times are Unix milliseconds. */
export type FamilyAlert = {
  id: string;
  /** Index of the child; null = the parent's. */
  child: number | null;
  createdAtMs: number;
  outcome: string;
  finishedAtMs: number | null;
  /** When it was sent by itself; null if it was not. */
  sentAtMs: number | null;
  heldBy: string | null;
  /** Since when it came in a message of the parent; null if it never did. */
  joinedAtMs: number | null;
  isNewest: boolean;
};

/** Messages to a family's chat, and their record. `parentUpAtMs`: when the parent was decided to be up again. */
export type FamilyRecord = {
  messages: { atMs: number; title: string }[];
  alerts: FamilyAlert[];
  parentDownAtMs: number[];
  parentUpAtMs: number[];
  /** Bad checks of each child by its own locations, by their due times. */
  badChecks: number[][];
  parentId: string;
};

/** A family to play, and `down_after_failures` of its children if it is not the default. */
type FamilyPlay = { family: Family; span: Stretch; seeds: readonly number[]; childFailures?: number | undefined };

/** Time from the end of a check to its decision in milliseconds, as in the other simulations. */
const DECIDE_MS = 150;

/** Interval of the watch over alerts that wait, in milliseconds. */
const WATCH_MS = 1000;

type Seat = { location: Location; monitor: Monitor; agent: Agent; child: number | null };
type Arriving = Check & { seat: Seat };

/**
 * Plays a family of monitors by the service's evaluator, watch and deliverer over a real database. It has its own
 * clock, but nothing is skipped: each check is a result that is evaluated.
 */
export async function simulateFamily(
  ground: FamilyGround,
  { family, span, seeds, childFailures }: FamilyPlay,
): Promise<FamilyRecord> {
  const stage = await FamilyStage.set(ground, { family, span, seeds, childFailures });
  return await stage.play(span);
}

class FamilyStage {
  readonly #runtime: TestRuntime;
  readonly #run: Run;
  readonly #seats: readonly Seat[];
  readonly #channelId: string;
  readonly #monitors: readonly Monitor[];
  readonly #evaluate: ReturnType<typeof createEvaluator>;
  readonly #deliverer: Deliverer;
  readonly #record: FamilyRecord;
  readonly #arriving: Arriving[] = [];
  #due: DueAttempt[] = [];
  #nowMs = 0;
  #watchAtMs = Number.POSITIVE_INFINITY;

  private constructor(runtime: TestRuntime, { seats, channelId, monitors }: Stage) {
    const { database, newId, publicUrl } = runtime;
    const now = () => this.#nowMs;
    this.#runtime = runtime;
    this.#run = runOn(database.pool);
    this.#seats = seats;
    this.#channelId = channelId;
    this.#monitors = monitors;
    this.#record = {
      messages: [],
      alerts: [],
      parentDownAtMs: [],
      parentUpAtMs: [],
      badChecks: monitors.slice(1).map(() => []),
      parentId: monitors[0]?.id ?? '',
    };
    this.#evaluate = createEvaluator({ database, now, newId, publicUrl });
    this.#deliverer = new Deliverer({
      database,
      newId,
      publicUrl,
      sendWebhook: () => Promise.reject(new Error('There is no webhook here')),
      sendTelegram: (_chatId, { title }) => {
        this.#record.messages.push({ atMs: this.#nowMs, title });
        return Promise.resolve({ ...DELIVERED, durationMs: 1 });
      },
      sendSlack: () => Promise.reject(new Error('There is no Slack here')),
      sendEmail: null,
      deadlineMs: 8000,
      retrySeconds: [5, 25, 125],
      channelHealth: { recordFailure: () => Promise.resolve(), recordLoss: () => Promise.resolve() },
      queues: { enqueueAttempts: (attempts) => Promise.resolve(void this.#due.push(...attempts)) },
      metrics: { deliveryAttempted: () => undefined },
      log: { info: () => undefined, warn: () => undefined },
      now,
      random: () => 0.5,
    });
  }

  /** Creates the monitors, their dependencies and their chat. */
  static async set(
    { runtime, agents }: FamilyGround,
    { family, span, seeds, childFailures }: FamilyPlay,
  ): Promise<FamilyStage> {
    const { database, tenantId, newId } = runtime;
    const run = runOn(database.pool);
    const { intervalSeconds, downAfterFailures, quorum } = DEFAULT_SETTING;
    const settings = {
      intervalSeconds,
      downAfterFailures,
      downMinSources: quorum,
      timeoutMs: timeoutMs(DEFAULT_SETTING),
    };
    const monitors = [await runtime.addMonitor(agents, { ...settings, name: 'Parent' })];
    for (const [index] of family.children.entries()) {
      const ofChild = { ...settings, downAfterFailures: childFailures ?? downAfterFailures };
      const monitor = await runtime.addMonitor(agents, { ...ofChild, name: `Child ${index}` });
      await replaceParents(run, { tenantId, monitor, parents: [{ id: monitors[0]?.id ?? '', mode: 'hold' }] });
      monitors.push(monitor);
    }
    const channelId = newId('nch');
    await createChannel(database, {
      id: channelId,
      tenantId,
      type: 'telegram',
      name: 'Chat',
      status: 'connected',
      allMonitors: false,
      monitorIds: monitors.map(({ id }) => id),
      nowMs: span.startMs,
      author: null,
    });
    await run(`UPDATE channels SET chat_id = '-100' WHERE id = $1`, [channelId]);
    const slots = await run<{ monitorNo: number; agentNo: number; slot: number }>(
      `SELECT monitor_no AS "monitorNo", agent_no AS "agentNo", phase AS slot FROM monitor_sources
       WHERE monitor_no = ANY ($1::int[]) ORDER BY monitor_no, agent_no`,
      [monitors.map(({ no }) => no)],
    );
    const scripts = [family.parent.script, ...family.children.map(({ script }) => script)];
    const seats = slots.flatMap(({ monitorNo, agentNo, slot }, place): Seat[] => {
      const index = monitors.findIndex(({ no }) => no === monitorNo);
      const [monitor, agent, script] = [monitors[index], agents.find(({ no }) => no === agentNo), scripts[index]];
      if (monitor === undefined || agent === undefined || script === undefined) return [];
      const location = createLocation({
        tick: tickMoment({ intervalSeconds, slot }, index),
        script,
        random: createRandom([...seeds, place]),
        answerMs: 80 + 35 * agents.indexOf(agent),
        timeoutMs: timeoutMs(DEFAULT_SETTING),
        startMs: span.startMs,
      });
      return [{ location, monitor, agent, child: index === 0 ? null : index - 1 }];
    });
    for (const agent of agents) await claimRechecks(database, { agentNo: agent.no, nowMs: span.startMs, limit: 1000 });
    return new FamilyStage(runtime, { seats, channelId, monitors });
  }

  async play({ endMs }: Stretch): Promise<FamilyRecord> {
    for (;;) {
      const checkMs = Math.min(...this.#seats.map(({ location }) => nextCheckMs(location)));
      const arrivalMs = Math.min(...this.#arriving.map(({ finishedAtMs }) => finishedAtMs + DECIDE_MS));
      const dueMs = Math.min(...this.#due.map(({ dueAtMs }) => dueAtMs));
      this.#nowMs = Math.max(this.#nowMs, Math.min(checkMs, arrivalMs, dueMs, this.#watchAtMs));
      if (this.#nowMs >= endMs) break;
      if (checkMs <= this.#nowMs) await this.#check();
      else if (arrivalMs <= this.#nowMs) await this.#decide();
      else if (dueMs <= this.#nowMs) await this.#deliver();
      else await this.#watch();
    }
    await this.#readAlerts();
    return this.#record;
  }

  async #check(): Promise<void> {
    const { database } = this.#runtime;
    for (const seat of this.#seats) {
      if (nextCheckMs(seat.location) > this.#nowMs) continue;
      if (seat.location.checkMs <= this.#nowMs)
        await claimRechecks(database, { agentNo: seat.agent.no, nowMs: this.#nowMs, limit: 1000 });
      const made = makeCheck(seat.location);
      if (made === null) continue;
      this.#arriving.push({ ...made, seat });
      if (seat.child !== null && made.verdict === 'down') this.#record.badChecks[seat.child]?.push(made.dueAtMs);
    }
  }

  /** Evaluates the results that have arrived by now in one batch, as the evaluator takes it from its queue. */
  async #decide(): Promise<void> {
    const batch = this.#arriving.filter(({ finishedAtMs }) => finishedAtMs <= this.#nowMs);
    for (const arrived of batch) this.#arriving.splice(this.#arriving.indexOf(arrived), 1);
    const { rechecks, transitions, deliveries } = await this.#evaluate(
      batch.map(({ seat: { monitor, agent }, dueAtMs, verdict }) => resultOf(monitor, agent, { dueAtMs, verdict })),
    );
    for (const { monitorNo, agentNo, atMs } of rechecks) {
      const seat = this.#seats.find(({ monitor, agent }) => monitor.no === monitorNo && agent.no === agentNo);
      if (seat !== undefined) seat.location.checkMs = Math.min(seat.location.checkMs, Math.max(atMs, this.#nowMs));
    }
    this.#due.push(...deliveries);
    for (const { monitorId, change } of transitions) {
      const { from, to } = change;
      if (monitorId !== this.#record.parentId) continue;
      if (to === 'down') this.#record.parentDownAtMs.push(this.#nowMs);
      else if (from === 'down') this.#record.parentUpAtMs.push(this.#nowMs);
    }
    if (transitions.length > 0) await this.#look();
  }

  async #deliver(): Promise<void> {
    this.#due = this.#due.filter(({ dueAtMs }) => dueAtMs > this.#nowMs);
    await new ChannelLanes(this.#deliverer).run(this.#channelId);
    await this.#look();
  }

  async #watch(): Promise<void> {
    const { due } = await watchParents(this.#runtime, this.#nowMs);
    this.#due.push(...due);
    this.#watchAtMs = this.#nowMs + WATCH_MS;
    await this.#look();
  }

  /** Records the alerts that came in a message of the parent, and stops the watch while no other alert waits. */
  async #look(): Promise<void> {
    const rows = await this.#run<{ id: string; isJoined: boolean }>(
      `SELECT h.delivery_id AS id, h.joined_id IS NOT NULL AS "isJoined" FROM parent_holds h
         JOIN deliveries d ON d.id = h.delivery_id WHERE d.channel_id = $1`,
      [this.#channelId],
    );
    for (const { id, isJoined } of rows) if (isJoined && !this.#joined.has(id)) this.#joined.set(id, this.#nowMs);
    const isWaiting = rows.some(({ isJoined }) => !isJoined);
    if (!isWaiting) this.#watchAtMs = Number.POSITIVE_INFINITY;
    else if (this.#watchAtMs === Number.POSITIVE_INFINITY) this.#watchAtMs = this.#nowMs + WATCH_MS;
  }

  readonly #joined = new Map<string, number>();

  async #readAlerts(): Promise<void> {
    const rows = await this.#run<Omit<FamilyAlert, 'child' | 'joinedAtMs'> & { monitorId: string }>(
      `SELECT d.id, d.monitor_id AS "monitorId", d.created_at AS "createdAtMs", d.outcome,
         d.finished_at AS "finishedAtMs", h.held_by AS "heldBy",
         CASE d.outcome WHEN 'delivered' THEN (SELECT min(a.started_at) FROM delivery_attempts a
           WHERE a.delivery_id = d.id) END AS "sentAtMs",
         (d.message #>> '{detail,sequence}')::integer = m.sequence AS "isNewest"
       FROM deliveries d JOIN monitors m ON m.id = d.monitor_id LEFT JOIN held_deliveries h ON h.delivery_id = d.id
       WHERE d.channel_id = $1 AND d.event <> 'monitor.up' AND NOT EXISTS (SELECT FROM reminders r
         WHERE r.delivery_id = d.id) ORDER BY d.no`,
      [this.#channelId],
    );
    for (const { monitorId, ...row } of rows) {
      const index = this.#monitors.findIndex(({ id }) => id === monitorId);
      const joinedAtMs = this.#joined.get(row.id) ?? null;
      this.#record.alerts.push({ ...row, child: index <= 0 ? null : index - 1, joinedAtMs });
    }
  }
}

type Stage = { seats: readonly Seat[]; channelId: string; monitors: readonly Monitor[] };

const DELIVERED = {
  ...NOTHING_MORE,
  outcome: 'delivered' as const,
  statusCode: 200,
  error: null,
  response: null,
};
