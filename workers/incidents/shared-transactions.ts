import { takeUpTo, type Waiting } from '../../core/shared-calls.ts';
import { isDatabaseAway } from '../../models/sql.ts';

/** Maximum simultaneous transactions: one computes while the other waits for PostgreSQL. */
const TRANSACTIONS_AT_ONCE = 2;

/** Maximum results of a transaction with several jobs. */
const MAX_RESULTS = 1000;

/**
 * Shares transactions among jobs. No job waits on purpose: a single job is run at once, and those that arrive while
 * PostgreSQL is busy share the next transaction. This keeps up with a storm of small jobs.
 */
export class SharedTransactions<Job extends { results: readonly unknown[] }, Outcome> {
  readonly #run: (jobs: readonly Job[]) => Promise<Outcome>;
  readonly #waiting: Waiting<Job, Outcome>[] = [];
  #underWay = 0;

  /** `run` decides jobs in one transaction; each job gets its outcome. */
  constructor(run: (jobs: readonly Job[]) => Promise<Outcome>) {
    this.#run = run;
  }

  /** Resolves once the job's transaction is committed and announced; rejects with its error. */
  add(job: Job): Promise<Outcome> {
    const settled = Promise.withResolvers<Outcome>();
    this.#waiting.push({ item: job, settled });
    this.#begin();
    return settled.promise;
  }

  #begin(): void {
    while (this.#underWay < TRANSACTIONS_AT_ONCE && this.#waiting.length > 0) {
      this.#underWay += 1;
      const next = takeUpTo(this.#waiting, MAX_RESULTS, ({ item }) => item.results.length);
      void this.#settle(next).finally(() => {
        this.#underWay -= 1;
        this.#begin();
      });
    }
  }

  /**
   * Settles jobs. If they fail together, one of them may be invalid: each is then run in a separate transaction, unless
   * the database is away, or goes away meanwhile.
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

  /** Null if the transaction was committed, and its jobs are settled. */
  async #settleTogether(group: readonly Waiting<Job, Outcome>[]): Promise<{ error: unknown } | null> {
    try {
      const outcome = await this.#run(group.map(({ item }) => item));
      for (const { settled } of group) settled.resolve(outcome);
      return null;
    } catch (error) {
      return { error };
    }
  }
}
