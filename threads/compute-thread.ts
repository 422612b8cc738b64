import { Worker } from 'node:worker_threads';

/** What a thread says of a task: its result, or what it threw; and the processor time that it took, in milliseconds. */
export type ThreadAnswer<Result> =
  | { outcome: 'done'; result: Result; spentMs: number }
  | { outcome: 'threw'; message: string; spentMs: number };

/** What came of a task, and the processor time that it took, in milliseconds. */
export type Computed<Result> = { result: Result; spentMs: number };

type Job<Task, Result> = {
  task: Task;
  demand: Demand;
  resolve: (computed: Computed<Result> | null) => void;
  reject: (error: Error) => void;
};

/**
 * Tasks that the thread has at a time: on a busy machine each answer waits for this process, and the thread should not.
 */
const WITH_THREAD = 4;

/**
 * Bounds of what may wait for the thread, in number and bytes. More than this is only asked of it where checks or
 * deliveries come faster than it computes.
 */
const MAX_WAITING = 2000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

/**
 * A job that is known to take long lets others go before it. They may compute for so long, in milliseconds of the
 * thread's own time: on a busy machine it waits longer.
 */
const LONGEST_WAIT_MS = 1000;

/** A thread bounds its tasks itself, by its own time; one that says nothing for so long is lost, in milliseconds. */
const LOST_AFTER_MS = 30_000;

/** What a task is taken to have cost that the thread was lost with, in milliseconds. */
const LOST_COST_MS = 500;

/**
 * A small young generation. What a task holds besides is bounded by its time: a thread that comes near a limit of its
 * own collects garbage for ever.
 */
const LIMITS = { maxYoungGenerationSizeMb: 8 } as const;

/**
 * One thread beside the event loop that computes for all accounts in turn. It starts with the first task, and again
 * after it was lost.
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
  /** Those that the thread has, in the order in which it answers. */
  #sent: Job<Task, Result>[] = [];
  #lostTimer: NodeJS.Timeout | undefined;

  constructor(entry: URL) {
    this.#entry = entry;
  }

  /**
   * What the thread makes of a task; null where its turn did not come. Rejects where the task throws, or the thread is
   * lost with it.
   */
  run(task: Task, demand: Demand): Promise<Computed<Result> | null> {
    if (this.#isClosed) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#queue({ task, demand, resolve, reject });
      this.#send();
    });
  }

  /** Ends the thread; what it is at and what waits have no turn. */
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
    // What the process was started with, keys and addresses, is none of its business.
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

  /** Only what the thread was at is lost with it. */
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
 * Whose a piece of work is, and the bytes of memory that it holds while it waits. `takesLong`: work of its kind is
 * known to take long.
 */
type Demand = { account: string; bytes: number; takesLong: boolean };

type Waiting<Work> = Demand & { job: Work; queuedAtMs: number };
type Used = { ms: number; atMs: number };

type FairQueueOptions = {
  /** What may wait at most: jobs, and bytes that they hold. */
  mostJobs: number;
  mostBytes: number;
  /** A clock in milliseconds that only goes forward. */
  now: () => number;
};

/** What an account has used counts half after so long, in milliseconds. */
const HALF_LIFE_MS = 10_000;

/** Accounts that are remembered, and the use that is not worth remembering, in milliseconds. */
const MAX_ACCOUNTS = 1000;
const NEGLIGIBLE_MS = 0.5;

/**
 * Jobs that wait for computing time. The account that has used the least of late comes first, so that those with much
 * to compute wait for one another and not everybody for them; of one account those that are not known to take long.
 * Where more waits than may, the one that would come last is turned away.
 */
export class FairQueue<Work> {
  readonly #options: FairQueueOptions;
  readonly #used = new Map<string, Used>();
  #waiting: Waiting<Work>[] = [];
  #bytes = 0;
  /** Computing time that was charged so far, in milliseconds: what a job waits for at most is counted in it. */
  #chargedMs = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Returns the jobs that have to go for it, itself perhaps among them. */
  add(job: Work, { account, bytes, takesLong }: Demand): Work[] {
    this.#waiting.push({ job, account, bytes, takesLong, queuedAtMs: this.#chargedMs });
    this.#bytes += bytes;
    const turnedAway: Work[] = [];
    while (this.#waiting.length > this.#options.mostJobs || this.#bytes > this.#options.mostBytes) {
      turnedAway.push(this.#remove(this.#furthestBack()));
    }
    return turnedAway;
  }

  /** Takes the job whose turn it is; null where none waits. */
  take(): Work | null {
    if (this.#waiting.length === 0) return null;
    let next = 0;
    for (let index = 1; index < this.#waiting.length; index += 1) if (this.#compare(index, next) < 0) next = index;
    return this.#remove(next);
  }

  /**
   * Takes out the jobs that are known to take long and have waited while others computed for so long, in
   * milliseconds.
   */
  takeOverdue(waitedMs: number): Work[] {
    const isOverdue = ({ queuedAtMs, takesLong }: Waiting<Work>) =>
      takesLong && this.#chargedMs - queuedAtMs >= waitedMs;
    const overdue = this.#waiting.filter(isOverdue);
    if (overdue.length === 0) return [];
    this.#waiting = this.#waiting.filter((waiting) => !isOverdue(waiting));
    for (const { bytes } of overdue) this.#bytes -= bytes;
    return overdue.map(({ job }) => job);
  }

  /** Charges what an account has used. */
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

  /** Below zero where one that waits comes before another, zero where they come in their order. */
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
