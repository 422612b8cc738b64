import { setTimeout as delay } from 'node:timers/promises';
import { SharedCalls } from '../../core/shared-calls.ts';
import { within } from '../../core/time.ts';
import type { Database } from '../database.ts';

/** How long a proof holds, in milliseconds; the next one begins no sooner. */
const HOLDS_MS = 1000;

/** PostgreSQL has so long to store it, in milliseconds. */
const PATIENCE_MS = 1000;

/**
 * Stores a mark, and beside it what needs new room on the disk; rejects where either cannot be done. A row that is
 * changed takes the room of its older versions: that alone goes on working on a full disk. The room is that of a
 * temporary file, which leaves nothing to be cleaned up.
 */
export async function storeProof({ pool }: Pick<Database, 'pool'>): Promise<void> {
  // One message without values is one transaction, and its settings are that transaction's.
  await pool.query(
    `SET LOCAL work_mem = '64kB';
     SELECT count(*) FROM generate_series(1, 10000);
     INSERT INTO service_marks (name, at, resumed_at) VALUES ('ready', extract(epoch FROM clock_timestamp()) * 1000, 0)
     ON CONFLICT (name) DO UPDATE SET at = excluded.at`,
  );
}

/**
 * Makes the check whether PostgreSQL stores what it is given, within a second. It stores one mark a second at the most:
 * callers in between get the last result if it was good, and otherwise wait for the next one.
 */
export function createWriteProof(database: Pick<Database, 'pool'>): () => Promise<boolean> {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let isProven = false;

  const proofs = new SharedCalls(async (waitMs: number): Promise<void> => {
    await delay(waitMs);
    beganAtMs = performance.now();
    isProven = await storeProof(database).then(
      () => true,
      () => false,
    );
  });

  return async () => {
    const waitMs = Math.max(0, beganAtMs + HOLDS_MS - performance.now());
    if (isProven && waitMs > 0) return true;
    isProven = false;
    await within(waitMs + PATIENCE_MS, proofs.run(waitMs), null);
    return isProven;
  };
}
