/**
 * Whose a piece of work is, and the bytes of memory that it holds while it waits. `takesLong`: work of its kind is
 * known to take long.
 */
export type Demand = { account: string; bytes: number; takesLong: boolean };

type Waiting<Job> = Demand & { job: Job; queuedAtMs: number };
type Used = { ms: number; atMs: number };

export type FairQueueOptions = {
  /** What may wait at most: jobs, and bytes that they hold. */
  mostJobs: number;
  mostBytes: number;
  /** A clock in milliseconds that only goes forward. */
  now: () => number;
};

/** What an account has used counts half after so long, in milliseconds. */
const HALF_LIFE_MS = 10_000;

/** Accounts that are remembered, and the use that is not worth remembering, in milliseconds. */
const MOST_ACCOUNTS = 1000;
const NEGLIGIBLE_MS = 0.5;

/**
 * Jobs that wait for computing time. The account that has used the least of late comes first, so that those with much
 * to compute wait for one another and not everybody for them; of one account those that are not known to take long.
 * Where more waits than may, the one that would come last is turned away.
 */
export class FairQueue<Job> {
  readonly #options: FairQueueOptions;
  readonly #used = new Map<string, Used>();
  #waiting: Waiting<Job>[] = [];
  #bytes = 0;
  /** Computing time that was charged so far, in milliseconds: what a job waits for at most is counted in it. */
  #chargedMs = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Returns the jobs that have to go for it, itself perhaps among them. */
  add(job: Job, { account, bytes, takesLong }: Demand): Job[] {
    this.#waiting.push({ job, account, bytes, takesLong, queuedAtMs: this.#chargedMs });
    this.#bytes += bytes;
    const turnedAway: Job[] = [];
    while (this.#waiting.length > this.#options.mostJobs || this.#bytes > this.#options.mostBytes) {
      turnedAway.push(this.#remove(this.#furthestBack()));
    }
    return turnedAway;
  }

  /** Takes the job whose turn it is; null where none waits. */
  take(): Job | null {
    if (this.#waiting.length === 0) return null;
    let next = 0;
    for (let index = 1; index < this.#waiting.length; index += 1) if (this.#compare(index, next) < 0) next = index;
    return this.#remove(next);
  }

  /**
   * Takes out the jobs that are known to take long and have waited while others computed for so long, in
   * milliseconds.
   */
  takeOverdue(waitedMs: number): Job[] {
    const isOverdue = ({ queuedAtMs, takesLong }: Waiting<Job>) =>
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
    if (this.#used.size > MOST_ACCOUNTS) this.#forget();
  }

  #forget(): void {
    for (const account of this.#used.keys()) if (this.#decayed(account) < NEGLIGIBLE_MS) this.#used.delete(account);
    const [oldest] = this.#used.keys();
    if (this.#used.size > MOST_ACCOUNTS && oldest !== undefined) this.#used.delete(oldest);
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

  #remove(index: number): Job {
    const [waiting] = this.#waiting.splice(index, 1);
    if (waiting === undefined) throw new RangeError(`Nothing waits at ${index}`);
    this.#bytes -= waiting.bytes;
    return waiting.job;
  }
}
