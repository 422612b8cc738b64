import { Worker } from 'node:worker_threads';

/** A thread's answer to a task: its result, or the error that it threw; and its processor time in milliseconds. */
export type ThreadAnswer<Result> =
  | { outcome: 'done'; result: Result; spentMs: number }
  | { outcome: 'threw'; message: string; spentMs: number };

/** The result of a task, and its processor time in milliseconds. */
export type Computed<Result> = { result: Result; spentMs: number };

type Job<Task, Result> = {
  task: Task;
  demand: Demand;
  resolve: (computed: Computed<Result> | null) => void;
  reject: (error: Error) => void;
};

/**
 * Maximum tasks in the thread at a time: on a busy machine this process takes answers late, and the thread should not
 * idle.
 */
const WITH_THREAD = 4;

/**
 * Limits of the tasks waiting for the thread, in number and bytes, reached only if checks or deliveries arrive faster
 * than it computes.
 */
const MAX_WAITING = 2000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

/**
 * How long a job known to take long yields to others, in milliseconds of the thread's processor time: on a busy machine
 * it waits longer.
 */
const LONGEST_WAIT_MS = 1000;

/**
 * Time without an answer after which a thread is lost, in milliseconds; it limits its tasks itself, by its processor
 * time.
 */
const LOST_AFTER_MS = 30_000;

/** Processor time charged for a task that was lost with its thread, in milliseconds. */
const LOST_COST_MS = 500;

/**
 * A small young generation. The other memory of a task is bounded by its time: a thread near its heap limit would
 * collect garbage forever.
 */
const LIMITS = { maxYoungGenerationSizeMb: 8 } as const;

/**
 * One thread beside the event loop that computes for all accounts in turn. It starts with the first task, and again
 * after being lost.
 */
export class ComputeThread<Task, Result> {
  readonly #entry: URL;
  readonly #queued = new FairQueue<Job<Task, Result>>({
    mostJobs: MAX_WAITING,
    mostBytes: MAX_WAITING_BYTES,
    now: () => performance.now(),
  });
  #worker: Worker | null = null;
  #isClosed = false;
  /** Jobs in the thread, in the order of its answers. */
  #sent: Job<Task, Result>[] = [];
  #lostTimer: NodeJS.Timeout | undefined;

  constructor(entry: URL) {
    this.#entry = entry;
  }

  /**
   * Runs a task in the thread; resolves with null if its turn did not come. Rejects if the task throws, or is lost with
   * the thread.
   */
  run(task: Task, demand: Demand): Promise<Computed<Result> | null> {
    if (this.#isClosed) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#queue({ task, demand, resolve, reject });
      this.#send();
    });
  }

  /** Ends the thread; running and waiting jobs resolve with null. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#lostTimer);
    for (const job of this.#sent.splice(0)) job.resolve(null);
    for (let job = this.#queued.take(); job !== null; job = this.#queued.take()) job.resolve(null);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #queue(job: Job<Task, Result>): void {
    for (const turnedAway of this.#queued.add(job, job.demand)) turnedAway.resolve(null);
  }

  #send(): void {
    for (const job of this.#queued.takeOverdue(LONGEST_WAIT_MS)) job.resolve(null);
    while (this.#sent.length < WITH_THREAD) {
      const job = this.#queued.take();
      if (job === null) break;
      this.#worker ??= this.#start();
      this.#worker.postMessage(job.task, []);
      if (this.#sent.push(job) === 1) this.#expectAnswer(this.#worker);
    }
    if (this.#sent.length === 0) this.#worker?.unref();
  }

  #expectAnswer(worker: Worker): void {
    worker.ref();
    clearTimeout(this.#lostTimer);
    this.#lostTimer = setTimeout(() => {
      this.#lose(worker, new Error('The thread that computes does not answer'));
      void worker.terminate();
    }, LOST_AFTER_MS);
  }

  #start(): Worker {
    // The thread needs no environment variables, which contain keys and addresses.
    const worker = new Worker(this.#entry, { env: {}, resourceLimits: LIMITS });
    worker.on('message', (answer: ThreadAnswer<Result>) => this.#worker === worker && this.#finish(answer, worker));
    worker.on('error', (error) => this.#lose(worker, error instanceof Error ? error : new Error(String(error))));
    worker.on('exit', () => this.#lose(worker, new Error('The thread that computes has ended')));
    return worker;
  }

  #finish(answer: ThreadAnswer<Result>, worker: Worker): void {
    const job = this.#take(answer.spentMs);
    if (this.#sent.length > 0) this.#expectAnswer(worker);
    if (answer.outcome === 'done') job?.resolve({ result: answer.result, spentMs: answer.spentMs });
    else job?.reject(new Error(answer.message));
    this.#send();
  }

  /** Loses only the task that the thread was running; the other sent tasks are queued again. */
  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#take(LOST_COST_MS)?.reject(error);
    for (const job of this.#sent.splice(0)) this.#queue(job);
    this.#send();
  }

  #take(spentMs: number): Job<Task, Result> | null {
    clearTimeout(this.#lostTimer);
    const job = this.#sent.shift() ?? null;
    if (job !== null) this.#queued.charge(job.demand.account, spentMs);
    return job;
  }
}

/**
 * The account of a job, and the memory it holds while it waits, in bytes. `takesLong`: jobs of its kind are known to
 * take long.
 */
type Demand = { account: string; bytes: number; takesLong: boolean };

type Waiting<Work> = Demand & { job: Work; queuedAtMs: number };
type Used = { ms: number; atMs: number };

type FairQueueOptions = {
  /** Limits of waiting jobs: their number, and the bytes that they hold. */
  mostJobs: number;
  mostBytes: number;
  /** A monotonic clock in milliseconds. */
  now: () => number;
};

/** Half-life of an account's use, in milliseconds. */
const HALF_LIFE_MS = 10_000;

/** Maximum accounts remembered, and the use that is not worth remembering, in milliseconds. */
const MAX_ACCOUNTS = 1000;
const NEGLIGIBLE_MS = 0.5;

/**
 * Jobs that wait for computing time. The account with the least recent use comes first, so that accounts with much to
 * compute wait for one another rather than delay the others; within an account, jobs not known to take long come first.
 * Over the limit, the last job in this order is turned away.
 */
export class FairQueue<Work> {
  readonly #options: FairQueueOptions;
  readonly #used = new Map<string, Used>();
  #waiting: Waiting<Work>[] = [];
  #bytes = 0;
  /** Computing time charged so far, in milliseconds, which measures how long a job has waited. */
  #chargedMs = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Adds a job, and returns the jobs that are turned away for it, possibly including itself. */
  add(job: Work, { account, bytes, takesLong }: Demand): Work[] {
    this.#waiting.push({ job, account, bytes, takesLong, queuedAtMs: this.#chargedMs });
    this.#bytes += bytes;
    const turnedAway: Work[] = [];
    while (this.#waiting.length > this.#options.mostJobs || this.#bytes > this.#options.mostBytes) {
      turnedAway.push(this.#remove(this.#furthestBack()));
    }
    return turnedAway;
  }

  /** Takes the next job; null if none waits. */
  take(): Work | null {
    if (this.#waiting.length === 0) return null;
    let next = 0;
    for (let index = 1; index < this.#waiting.length; index += 1) if (this.#compare(index, next) < 0) next = index;
    return this.#remove(next);
  }

  /** Removes and returns the jobs known to take long that have waited for `waitedMs` of others' computing time. */
  takeOverdue(waitedMs: number): Work[] {
    const isOverdue = ({ queuedAtMs, takesLong }: Waiting<Work>) =>
      takesLong && this.#chargedMs - queuedAtMs >= waitedMs;
    const overdue = this.#waiting.filter(isOverdue);
    if (overdue.length === 0) return [];
    this.#waiting = this.#waiting.filter((waiting) => !isOverdue(waiting));
    for (const { bytes } of overdue) this.#bytes -= bytes;
    return overdue.map(({ job }) => job);
  }

  /** Charges computing time to an account. */
  charge(account: string, ms: number): void {
    this.#chargedMs += ms;
    const used = this.#decayed(account) + ms;
    this.#used.delete(account);
    this.#used.set(account, { ms: used, atMs: this.#options.now() });
    if (this.#used.size > MAX_ACCOUNTS) this.#forget();
  }

  #forget(): void {
    for (const account of this.#used.keys()) if (this.#decayed(account) < NEGLIGIBLE_MS) this.#used.delete(account);
    const [oldest] = this.#used.keys();
    if (this.#used.size > MAX_ACCOUNTS && oldest !== undefined) this.#used.delete(oldest);
  }

  #furthestBack(): number {
    let last = 0;
    for (let index = 1; index < this.#waiting.length; index += 1) if (this.#compare(index, last) >= 0) last = index;
    return last;
  }

  /** Returns a negative number if the first job comes before the other, zero if they stay in order of arrival. */
  #compare(index: number, other: number): number {
    const [one, two] = [this.#waiting[index], this.#waiting[other]];
    if (one === undefined || two === undefined) return 0;
    const used = one.account === two.account ? 0 : this.#decayed(one.account) - this.#decayed(two.account);
    return used === 0 ? Number(one.takesLong) - Number(two.takesLong) : used;
  }

  #decayed(account: string): number {
    const used = this.#used.get(account);
    return used === undefined ? 0 : used.ms * 0.5 ** ((this.#options.now() - used.atMs) / HALF_LIFE_MS);
  }

  #remove(index: number): Work {
    const [waiting] = this.#waiting.splice(index, 1);
    if (waiting === undefined) throw new RangeError(`Nothing waits at ${index}`);
    this.#bytes -= waiting.bytes;
    return waiting.job;
  }
}
