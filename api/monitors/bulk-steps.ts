import {
  AUDIT_ACTION_OF,
  STATUS_OF,
  changeTags,
  type BulkOrder,
  type BulkResult,
  type BulkTask,
} from '../../core/monitors/bulk.ts';
import type { Selected } from '../../models/monitors/bulk-changes.ts';
import type { BeforeCommit } from '../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { isDatabaseAway, type Run } from '../../models/sql.ts';
import { accept, notFound } from '../api-error.ts';
import type { Parts } from '../handler.ts';
import { answerTo } from '../middleware/error-response.ts';
import type { RateLimits } from '../rate-limits.ts';
import {
  checkMonitor,
  patchMonitor,
  removeMonitor,
  switchMonitor,
  type AnnouncingParts,
  type MonitorChangeRequest,
} from './changes.ts';

type StepParts = AnnouncingParts & Parts<'readVendorPage' | 'config' | 'makeId'>;

/** Records the result of each monitor: success within the transaction of its change. */
export type Recorder<Step> = {
  /** Resolves with false if the same step was recorded before: then the change is rolled back. */
  succeed: (run: Run, step: Step, status: number) => Promise<boolean>;
  fail: (step: Step, failure: { status: number; error: string }) => Promise<void>;
};

/**
 * Maximum number of monitor changes in progress in a process, equal to the limit of an account's requests. That is half
 * of the connections of the smallest pool. Concurrent bulk changes take turns after each monitor.
 */
const MAX_UNDER_WAY = 4;

/** Maximum length of a stored message, in characters. */
const MAX_MESSAGE = 500;

/** The steps of all bulk changes in a process: each applies to one monitor what its single operation would. */
export class BulkSteps {
  readonly #parts: StepParts;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(parts: StepParts) {
    // A status page may take seconds to respond, so the wait gives up its turn.
    this.#parts = {
      ...parts,
      readVendorPage: (page, reader) => this.#outOfTurn(() => parts.readVendorPage(page, reader)),
    };
  }

  /** Changes these monitors and resolves with the result of each, in order; records nothing. */
  async changeAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]> {
    return await this.#each(monitors, (monitor) =>
      this.#resultOf(monitor, () => this.#change(this.#parts, task, monitor)),
    );
  }

  /** Resolves with the result that each change would have. Changes nothing, and counts no checks. */
  async rehearseAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]> {
    return await this.#each(monitors, (monitor) => this.#resultOf(monitor, () => this.#rehearse(task, monitor)));
  }

  /**
   * Changes these monitors while `mayBegin` allows it, and records each result. Rejects if the database is away:
   * unrecorded changes then are not made.
   */
  async recordAll<Step extends Selected>(
    task: BulkTask,
    steps: readonly Step[],
    { recorder, mayBegin }: { recorder: Recorder<Step>; mayBegin: () => boolean },
  ): Promise<void> {
    await this.#each(steps, async (step) => {
      if (!mayBegin()) return;
      const status = STATUS_OF[task.order.action];
      const beforeCommit = async (run: Run) => {
        if (!(await recorder.succeed(run, step, status))) throw new DoneBefore();
      };
      try {
        await this.#change(this.#parts, task, { ...step, beforeCommit });
      } catch (error) {
        if (error instanceof DoneBefore) return;
        if (isDatabaseAway(error)) throw error;
        await recorder.fail(step, this.#failureOf(error));
      }
    });
  }

  async #resultOf({ monitorId, name }: Selected, act: () => Promise<number>): Promise<BulkResult> {
    try {
      return { monitorId, name, status: await act(), error: null };
    } catch (error) {
      return { monitorId, name, ...this.#failureOf(error) };
    }
  }

  #failureOf(error: unknown): { status: number; error: string } {
    const { status, message } = answerTo(error);
    if (status >= 500) this.#parts.logger.error({ err: error }, 'bulk.step_failed');
    return { status, error: message.slice(0, MAX_MESSAGE).replaceAll('\0', '').toWellFormed() };
  }

  async #change(
    parts: StepParts,
    task: BulkTask,
    { monitorId, name, beforeCommit }: Selected & { beforeCommit?: BeforeCommit },
  ): Promise<number> {
    const { order, account } = task;
    const { makeId, now } = parts;
    // The monitor did not exist when the selection was made: another query would cost as much as a change.
    if (name === null) throw notFound('monitor', monitorId);
    const request: MonitorChangeRequest = {
      account,
      author: {
        id: makeId('aud'),
        action: AUDIT_ACTION_OF[order.action],
        actor: task.actor,
        address: task.address,
        nowMs: now(),
      },
      monitorId,
      ...(beforeCommit && { beforeCommit }),
    };
    await changeOne(parts, request, order);
    return STATUS_OF[order.action];
  }

  /** Makes the change and rolls it back, because nothing else would find the same problems. */
  async #rehearse(task: BulkTask, monitor: Selected): Promise<number> {
    const { order, account } = task;
    const status = STATUS_OF[order.action];
    if (order.action === 'delete') {
      // A deletion also changes dependent monitors, outside its own transaction, so it is not rehearsed.
      const key = { tenantId: account.tenantId, id: monitor.monitorId };
      if (monitor.name === null || (await findMonitor(this.#parts.database, key)) === null)
        throw notFound('monitor', key.id);
      return status;
    }
    const beforeCommit = () => Promise.reject(new Rehearsed());
    const parts = order.action === 'check' ? { ...this.#parts, rateLimits: UNCOUNTED } : this.#parts;
    try {
      await this.#change(parts, task, { ...monitor, beforeCommit });
    } catch (error) {
      if (!(error instanceof Rehearsed)) throw error;
    }
    return status;
  }

  /**
   * Runs a task for each item, a few at a time both here and in the whole process; resolves in the order of the items.
   */
  async #each<Item, Result>(items: readonly Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
    const results: Result[] = [];
    const entries = items.entries();
    const work = async () => {
      for (const [index, item] of entries) results[index] = await this.#inTurn(() => run(item));
    };
    await Promise.all(Array.from({ length: MAX_UNDER_WAY }, work));
    return results;
  }

  async #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    await this.#awaitTurn();
    try {
      return await run();
    } finally {
      this.#endTurn();
    }
  }

  /** Runs a function while other tasks use the current turn. */
  async #outOfTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#endTurn();
    try {
      return await run();
    } finally {
      await this.#awaitTurn();
    }
  }

  async #awaitTurn(): Promise<void> {
    if (this.#underWay < MAX_UNDER_WAY) {
      this.#underWay += 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    await turn.promise;
  }

  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#underWay -= 1;
    else next();
  }
}

/** A rehearsed check counts toward no limit. */
const UNCOUNTED: RateLimits = { take: async () => undefined, takeFor: async () => undefined };

/** Rolls back a rehearsal. */
class Rehearsed extends Error {}

/** Rolls back a change that another process has made meanwhile. */
class DoneBefore extends Error {}

async function changeOne(parts: StepParts, request: MonitorChangeRequest, order: BulkOrder): Promise<void> {
  const { action, patch: body = {}, ifVersion } = order;
  switch (action) {
    case 'pause':
    case 'resume':
      return await switchMonitor(parts, request, action === 'resume');
    case 'delete':
      return await removeMonitor(parts, request);
    case 'check':
      await checkMonitor(parts, request);
      return;
    case 'tag':
    case 'untag':
      await patchMonitor(parts, request, {
        body: {},
        keepsOmitted: true,
        tagsOf: (current) => accept(changeTags(current, order)),
      });
      return;
    case 'patch':
      await patchMonitor(parts, request, { body, ifVersion, keepsOmitted: true });
  }
}
