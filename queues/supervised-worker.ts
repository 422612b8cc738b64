import { within } from '../core/time.ts';
/** One opening of a worker; `close` takes no new job and resolves when those in hand are done. */
export type OpenedWorker = { close: () => Promise<void> };

/** What a processor does with one job, whatever a job is. */
type Process<Job> = (job: Job, token: string | undefined) => Promise<unknown>;

export type SupervisedWorkerOptions<Job> = {
  process: Process<Job>;
  /** Opens a worker with connections of its own. */
  open: (process: Process<Job>) => OpenedWorker;
  /** Jobs that it has in hand at most. */
  concurrency: number;
  /** Whether a job could be taken now; rejects when the queue is away. */
  hasWaiting: () => Promise<boolean>;
  onReopened: () => void;
};

/**
 * How often the worker is polled for whether jobs are taken, in milliseconds. A job that waits is taken within
 * milliseconds.
 */
const POLL_MS = 10_000;

/** Polls in a row that must find the same before a worker is given up. */
const IDLE_POLLS = 2;

/** A worker that hangs is not waited for longer when the process stops, in milliseconds. */
const LEAVE_MS = 1000;

/**
 * Keeps a worker at work: one that has taken nothing for two polls, with a job waiting and a hand free, is opened anew.
 * Whatever it waits for, on a connection that is not answered any more, another one does not.
 */
export class SupervisedWorker<Job> {
  readonly #options: SupervisedWorkerOptions<Job>;
  readonly #left = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #worker: OpenedWorker;
  #counts = { taken: 0, inHand: 0 };
  #takenAtPoll = 0;
  #idlePolls = 0;
  #isClosing = false;

  constructor(options: SupervisedWorkerOptions<Job>) {
    this.#options = options;
    this.#worker = this.#open();
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    await this.#worker.close();
    await within(LEAVE_MS, Promise.all(this.#left), null);
  }

  #open(): OpenedWorker {
    // Of this opening alone: the one before may still have some in hand.
    const counts = { taken: 0, inHand: 0 };
    this.#counts = counts;
    this.#takenAtPoll = 0;
    return this.#options.open(async (job, token) => {
      counts.taken += 1;
      counts.inHand += 1;
      try {
        return await this.#options.process(job, token);
      } finally {
        counts.inHand -= 1;
      }
    });
  }

  async #poll(): Promise<void> {
    const { taken, inHand } = this.#counts;
    const isIdle = taken === this.#takenAtPoll && inHand < this.#options.concurrency;
    this.#takenAtPoll = taken;
    const isStuck = isIdle && (await this.#options.hasWaiting().catch(() => false));
    this.#idlePolls = isStuck ? this.#idlePolls + 1 : 0;
    if (this.#idlePolls < IDLE_POLLS || this.#isClosing) return;
    this.#idlePolls = 0;
    const forget = () => void this.#left.delete(left);
    const left = this.#worker.close().then(forget, forget);
    this.#left.add(left);
    this.#worker = this.#open();
    this.#options.onReopened();
  }
}
