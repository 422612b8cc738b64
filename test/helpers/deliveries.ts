import {
  claimDeliveries,
  recordAttempts,
  type ClaimedAttempt,
  type RecordedAttempt,
} from '../../models/alerts/delivery-attempts.ts';
import type { Database } from '../../models/database.ts';

/** Claims one attempt of one channel; null where none is to be had. */
export async function claimNextDelivery(
  database: Database,
  channelId: string,
  when: { nowMs: number; claimMs: number },
): Promise<ClaimedAttempt | null> {
  const [claim] = await claimDeliveries(database, [channelId], when);
  return claim?.claimed ?? null;
}

/** Records one attempt; false where its delivery was not its own any more. */
export async function recordAttempt(database: Database, made: RecordedAttempt): Promise<boolean> {
  return (await recordAttempts(database, [made]))[0] ?? false;
}
