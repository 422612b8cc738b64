import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Spread } from '../../core/statistics/latency-histogram.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/**
 * Delays of a process since its last update, in seconds; null = nothing was measured. `lateness`: starts of checks
 * after their due times. `evaluationLag`: evaluation after a batch of results was complete.
 */
export type ProcessFigures = { lateness: Spread | null; evaluationLag: Spread | null };

/** A running process. Times are Unix seconds. */
export type ProcessRecord = {
  id: string;
  kind: string;
  version: string;
  host: string;
  pid: number;
  figures: ProcessFigures | null;
  startedAt: number;
  lastSeenAt: number;
};

type ProcessRecordOptions = {
  /** `web`, `check hanoi`, `evaluate` and the like; `spotcheck` is everything in one. */
  kind: string;
  version: string;
  /** Null for processes that neither check nor evaluate. */
  readFigures: (() => Promise<ProcessFigures>) | null;
  /** Called if the row could not be updated; the next update is tried. */
  onFailure: (error: unknown) => void;
};

/**
 * Interval at which a process updates its row, in milliseconds, and the time without an update after which it is gone.
 */
const RECORD_EVERY_MS = 10_000;
const GONE_SECONDS = 30;

/** Keeps the row of a process up to date, from now until it is stopped. */
export function recordProcess(
  database: Pick<Database, 'pool'>,
  { kind, version, readFigures, onFailure }: ProcessRecordOptions,
): { stop: () => Promise<void> } {
  const id = randomUUID();
  const startedAt = nowSeconds();
  const run = runOn(database.pool);
  const upsert = async () => {
    try {
      const figures = readFigures && (await readFigures());
      await run(
        `WITH gone AS (DELETE FROM processes WHERE seen_at < $8::bigint - ${GONE_SECONDS * 10})
         INSERT INTO processes (id, kind, version, host, pid, figures, started_at, seen_at, reads_packed)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, true)
         ON CONFLICT (id) DO UPDATE SET figures = excluded.figures, seen_at = excluded.seen_at`,
        [id, kind, version, hostname(), process.pid, figures && JSON.stringify(figures), startedAt, nowSeconds()],
      );
    } catch (error) {
      onFailure(error);
    }
  };
  let upserting = upsert();
  const timer = setInterval(() => void (upserting = upsert()), RECORD_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await upserting;
      await run('DELETE FROM processes WHERE id = $1', [id]).catch(onFailure);
    },
  };
}

/** Lists the running processes, by kind, the oldest first. */
export async function listProcesses(database: Pick<Database, 'pool'>, nowMs: number): Promise<ProcessRecord[]> {
  return await runOn(database.pool)<ProcessRecord>(
    `SELECT id, kind, version, host, pid, figures, started_at AS "startedAt", seen_at AS "lastSeenAt" FROM processes
     WHERE seen_at >= $1 ORDER BY kind, started_at, id`,
    [Math.floor(nowMs / 1000) - GONE_SECONDS],
  );
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
