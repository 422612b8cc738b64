import { signal } from '@preact/signals';
import { sortTags } from '../../../core/monitors/monitor.ts';
import { Failure, listAll, sentenceOf } from '../../client/answer.ts';
import { REASON_MS, api, type Schemas } from '../../client/api.ts';
import { liveState } from '../../client/live-stream.ts';
import { loadAll, onChange } from '../../client/live.ts';
import { session, signedIn } from '../../client/session-state.ts';
import { PATHS } from '../../paths.ts';
import { deletedPaths } from '../../shell/router.ts';
import { bodyOf, without, type BulkAction, type Step } from './bulk-steps.ts';

/** A monitor that could not be changed, with the reason. */
export type Refusal = { id: string; name: string; reason: string };

/** One action on many monitors: its progress, and its outcome. */
export type Run = {
  userId: string;
  action: BulkAction;
  tags: readonly string[];
  isUndo: boolean;
  total: number;
  done: number;
  /** Number of monitors in the steps before the present one. */
  doneBefore: number;
  /** Requests that are not finished; the first one is under way. */
  steps: readonly Step[];
  /** Key and time of the request that is under way, and the job that it started. */
  key: string;
  sentAtMs: number;
  jobId: string | null;
  refusals: readonly Refusal[];
  /** Steps that revert all real changes. */
  undo: readonly Step[];
  endedAtMs: number | null;
  /** Why the rest was not done; null if nothing is left. */
  error: string | null;
};

type Progress = Pick<Schemas['BulkChange'], 'status' | 'done' | 'failed'>;

/** Time in which an action can be undone after its end, in milliseconds. */
export const UNDO_MS = 10_000;
/** Intervals of polling a job without a stream, and beside a stream that does not report it. */
const POLL_MS = 2000;
const SILENT_MS = 10_000;
/**
 * Time for which a request that may have been lost is resent, in milliseconds: with its key, it is carried out once.
 */
const RETRY_MS = 60_000;
const INTERRUPTED = 'The action was interrupted, and may not be complete';
/** Most results in a page. */
const PAGE = 500;

/** Key in session storage: after a reload the page continues the tab's action. */
const KEY = 'bulk';

/** Carries out one action on many monitors at a time, and follows it (D-489). Its progress is a signal. */
class BulkRunner {
  readonly #run = signal<Run | null>(null);

  /** Action that is under way, or was done last; null if it was dismissed, and for any other person. */
  get run(): Run | null {
    const { value } = this.#run;
    return value !== null && value.userId === signedIn().user.id ? value : null;
  }

  /** Starts an action; does nothing while another one is under way. */
  start(steps: readonly Step[]): void {
    this.#start(steps, false);
  }

  /** Reverts the changes of the last action. */
  undo(): void {
    const { run } = this;
    if (run !== null && run.endedAtMs !== null) this.#start(run.undo, true);
  }

  /** Discards the outcome of the last action. */
  dismiss(): void {
    if (this.#run.peek()?.endedAtMs !== null) this.#set(null);
  }

  /** Continues the tab's action after a reload. */
  restore(): void {
    if (this.#run.peek() !== null) return;
    const run = stored();
    this.#set(run);
    if (run?.endedAtMs === null) void this.#work();
  }

  #start(steps: readonly Step[], isUndo: boolean): void {
    const [first] = steps;
    const { run } = this;
    if (first === undefined || (run !== null && run.endedAtMs === null)) return;
    this.#set({
      userId: signedIn().user.id,
      action: first.action,
      tags: sortTags(steps.flatMap(({ tags }) => tags)),
      isUndo,
      total: steps.reduce((sum, { ids }) => sum + ids.length, 0),
      done: 0,
      doneBefore: 0,
      steps,
      key: newKey(),
      sentAtMs: Date.now(),
      jobId: null,
      refusals: [],
      undo: [],
      endedAtMs: null,
      error: null,
    });
    void this.#work();
  }

  async #work(): Promise<void> {
    let error: string | null = null;
    try {
      for (;;) {
        const run = this.#run.peek();
        const [step] = run?.steps ?? [];
        if (run === null || step === undefined) break;
        await this.#finish(run, step);
      }
    } catch (failure) {
      const isRefused = failure instanceof Failure && failure.status === 401;
      // A refused session may end later, or be renewed.
      if (isRefused && session.peek() !== null) await pause(REASON_MS);
      if (isRefused || session.peek() === null) {
        // The run stays stored: the same person continues it, now or after the next sign-in.
        this.#run.value = null;
        if (session.peek() !== null) this.restore();
        return;
      }
      error = sentenceOf(failure);
    }
    const run = this.#run.peek();
    if (run === null) return;
    this.#set(ended(run, error));
    if (liveState.peek() !== 'live') void loadAll();
  }

  /** Carries out the first step, and removes it from the list. */
  async #finish(run: Run, step: Step): Promise<void> {
    const refusals = run.jobId === null ? await this.#send(run, step) : await this.#follow(run.jobId);
    const after = this.#run.peek() ?? run;
    const refused = new Set(refusals.map(({ id }) => id));
    if (step.action === 'delete')
      for (const id of step.ids) if (!refused.has(id)) deletedPaths.set(`/monitors/${id}`, PATHS.monitors);
    const doneBefore = after.doneBefore + step.ids.length;
    this.#set({
      ...after,
      done: doneBefore,
      doneBefore,
      steps: after.steps.slice(1),
      key: newKey(),
      sentAtMs: Date.now(),
      jobId: null,
      refusals: [...after.refusals, ...refusals],
      undo: [...after.undo, ...without(step.undo, refused)],
    });
  }

  /** Sends a step, again if the response was lost, and returns the refusals. */
  async #send({ key, sentAtMs }: Run, step: Step): Promise<readonly Refusal[]> {
    for (;;) {
      try {
        const change = await api.post('/monitors/bulk', { body: bodyOf(step), idempotencyKey: key });
        if (change.id === null) return refusalsOf(change);
        this.#change({ jobId: change.id });
        return await this.#follow(change.id);
      } catch (error) {
        // 409: the first request is still under way.
        const isLost = error instanceof Failure && (error.status === 0 || error.status === 409);
        if (!isLost || Date.now() - sentAtMs > RETRY_MS) throw error;
        await pause(POLL_MS);
      }
    }
  }

  /** Follows a job to its end, and returns the refusals. */
  async #follow(id: string): Promise<readonly Refusal[]> {
    const { failed } = await this.#watch(id);
    if (failed === 0) return [];
    const path = { bulk_id: id };
    return await listAll(
      (page) => api.page('/monitors/bulk/{bulk_id}', { path, query: { ...page, limit: PAGE, failed: 'true' } }),
      refusalsOf,
    );
  }

  #watch(id: string): Promise<Progress> {
    return new Promise((resolve, reject) => {
      const last = { atMs: 0, isAsking: false };
      const take = (progress: Progress) => {
        last.atMs = Date.now();
        const { doneBefore, done } = this.#run.peek() ?? { doneBefore: 0, done: 0 };
        this.#change({ done: Math.max(done, doneBefore + progress.done) });
        if (progress.status !== 'done') return;
        stop();
        resolve(progress);
      };
      const ask = async () => {
        if (last.isAsking) return;
        last.isAsking = true;
        try {
          take(await api.get('/monitors/bulk/{bulk_id}', { path: { bulk_id: id }, query: { limit: 1 } }));
        } catch (error) {
          if (error instanceof Failure && [0, 429, 500, 502, 503, 504].includes(error.status)) return;
          stop();
          reject(error instanceof Error ? error : new Error(String(error)));
        } finally {
          last.isAsking = false;
        }
      };
      // The stream sends the same figures as the job (watchLive in the API's description).
      const stopListening = onChange((kind, data) => {
        if (kind === 'bulk' && data.id === id) take(data as Progress & { id: string });
      });
      const timer = setInterval(() => {
        if (Date.now() - last.atMs >= (liveState.peek() === 'live' ? SILENT_MS : 0)) void ask();
      }, POLL_MS);
      const stop = () => {
        stopListening();
        clearInterval(timer);
      };
      void ask();
    });
  }

  #change(part: Partial<Run>): void {
    const run = this.#run.peek();
    if (run === null) return;
    // Progress is not stored: after a reload the job reports it.
    if ('jobId' in part) this.#set({ ...run, ...part });
    else this.#run.value = { ...run, ...part };
  }

  #set(run: Run | null): void {
    this.#run.value = run;
    try {
      if (run === null) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, JSON.stringify(run));
    } catch {
      // Without storage the run lasts until the tab is reloaded.
    }
  }
}

/** The bulk change of this tab. */
export const bulk = new BulkRunner();

/** Returns an action that has ended. A refused undo can be tried again. */
function ended(run: Run, error: string | null): Run {
  return { ...run, endedAtMs: Date.now(), error, undo: run.isUndo ? run.steps : run.undo };
}

/** Returns the stored action; null if it is another person's, or finished without errors. */
function stored(): Run | null {
  try {
    const run = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Run | null;
    if (run === null || run.userId !== signedIn().user.id) return null;
    const { endedAtMs, jobId, sentAtMs, error, refusals } = run;
    if (endedAtMs === null) return jobId === null && Date.now() - sentAtMs > RETRY_MS ? ended(run, INTERRUPTED) : run;
    return error === null && refusals.length === 0 && Date.now() - endedAtMs > UNDO_MS ? null : run;
  } catch {
    return null;
  }
}

function refusalsOf({ results }: Schemas['BulkChange']): Refusal[] {
  return results.flatMap(({ monitor_id: id, name, error }) =>
    error === null ? [] : [{ id, name: name ?? id, reason: error.message }],
  );
}

/** Returns a random key. Pages without https have no `randomUUID`. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
