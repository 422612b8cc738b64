import {
  claimDeliveries,
  recordAttempts,
  type ClaimedAttempt,
  type RecordedAttempt,
} from '../../models/alerts/delivery-attempts.ts';
import type { Database } from '../../models/database.ts';

/** Claims one attempt of one channel; null if none is due. */
export async function claimNextDelivery(
  database: Database,
  channelId: string,
  when: { nowMs: number; claimMs: number },
): Promise<ClaimedAttempt | null> {
  const [claim] = await claimDeliveries(database, [channelId], when);
  return claim?.claimed ?? null;
}

/** Records one attempt; returns false if its claim on the delivery had been lost. */
export async function recordAttempt(database: Database, made: RecordedAttempt): Promise<boolean> {
  return (await recordAttempts(database, [made]))[0] ?? false;
}
