import { isDatabaseAway } from '../../models/sql.ts';

/** One transaction computes while the other waits for PostgreSQL. */
const TRANSACTIONS_AT_ONCE = 2;

/** A transaction takes no further job beyond so many results. */
const MAX_RESULTS = 1000;

type Waiting<Job, Outcome> = { job: Job; settled: PromiseWithResolvers<Outcome> };

/**
 * Shares transactions among jobs. Nothing waits on purpose: a job that comes alone goes out at once, and those that
 * come while PostgreSQL is busy go into the next transaction together. This keeps up with a storm of small jobs.
 */
export class SharedTransactions<Job extends { results: readonly unknown[] }, Outcome> {
  readonly #run: (jobs: readonly Job[]) => Promise<Outcome>;
  readonly #waiting: Waiting<Job, Outcome>[] = [];
  #underWay = 0;

  /** `run` decides jobs in one transaction; each job gets its outcome. */
  constructor(run: (jobs: readonly Job[]) => Promise<Outcome>) {
    this.#run = run;
  }

  /** Resolves once the job's transaction is committed and announced; rejects with what made it fail. */
  add(job: Job): Promise<Outcome> {
    const settled = Promise.withResolvers<Outcome>();
    this.#waiting.push({ job, settled });
    this.#begin();
    return settled.promise;
  }

  #begin(): void {
    while (this.#underWay < TRANSACTIONS_AT_ONCE && this.#waiting.length > 0) {
      this.#underWay += 1;
      void this.#settle(this.#take()).finally(() => {
        this.#underWay -= 1;
        this.#begin();
      });
    }
  }

  /** The next jobs, in their order: one in any case, and as many more as a transaction takes. */
  #take(): Waiting<Job, Outcome>[] {
    let results = 0;
    const next = this.#waiting.findIndex(({ job }, index) => {
      results += job.results.length;
      return index > 0 && results > MAX_RESULTS;
    });
    return this.#waiting.splice(0, next === -1 ? this.#waiting.length : next);
  }

  /**
   * Where jobs fail together, one of them may be wrong: each then has a transaction of its own. Not so where the
   * database is away, or goes away meanwhile.
   */
  async #settle(group: readonly Waiting<Job, Outcome>[]): Promise<void> {
    const failed = await this.#settleTogether(group);
    if (failed === null) return;
    let reason = failed.error;
    for (const one of group) {
      const own = group.length > 1 && !isDatabaseAway(reason) ? await this.#settleTogether([one]) : { error: reason };
      if (own === null) continue;
      reason = own.error;
      one.settled.reject(reason);
    }
  }

  /** Null where the transaction was committed, and its jobs are settled. */
  async #settleTogether(group: readonly Waiting<Job, Outcome>[]): Promise<{ error: unknown } | null> {
    try {
      const outcome = await this.#run(group.map(({ job }) => job));
      for (const { settled } of group) settled.resolve(outcome);
      return null;
    } catch (error) {
      return { error };
    }
  }
}
