import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/**
 * Telegram offers an update again for a day at the most. Twice that, for clocks and nights in which it was away; and
 * far less than the quiet week after which it numbers from anywhere, so that no new update is taken for an old one.
 */
const UPDATE_GOOD_FOR_MS = 2 * DAY_MS;

/** A bot's update, by the bot's name and the update's number. */
export type BotUpdate = { bot: string; updateId: number; nowMs: number };

/**
 * Takes an update in the transaction of what it changes; false where that was done before. Updates may come in any
 * order, and twice at the same moment: the second waits for the first one's transaction, and takes the update after all
 * where that fails.
 */
export async function takeUpdate(run: Run, { bot, updateId, nowMs }: BotUpdate): Promise<boolean> {
  const rows = await run<{ bot: string }>(
    `INSERT INTO telegram_updates AS u (bot, update_id, at) VALUES ($1, $2, $3)
     ON CONFLICT (bot, update_id) DO UPDATE SET at = EXCLUDED.at WHERE u.at <= $3::bigint - $4
     RETURNING bot`,
    [bot, updateId, nowMs, UPDATE_GOOD_FOR_MS],
  );
  return rows.length > 0;
}

/** Forgets updates that Telegram cannot offer again; returns how many. */
export async function deleteOldUpdates(database: Database, nowMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM telegram_updates WHERE at <= $1 RETURNING 1) SELECT count(*) AS deleted FROM gone',
    [nowMs - UPDATE_GOOD_FOR_MS],
  );
  return row?.deleted ?? 0;
}

/**
 * An older record of where polling continues says nothing of what comes, in milliseconds. Telegram keeps updates for a
 * day, and after a quiet week it numbers them from anywhere.
 */
const POLL_GOOD_FOR_MS = DAY_MS;

/** The first update that has not been asked for yet; null = whatever Telegram still keeps. */
export async function findNextUpdate(run: Run, { bot, nowMs }: { bot: string; nowMs: number }): Promise<number | null> {
  const [row] = await run<{ next_update_id: number }>(
    'SELECT next_update_id FROM telegram_polls WHERE bot = $1 AND at > $2',
    [bot, nowMs - POLL_GOOD_FOR_MS],
  );
  return row?.next_update_id ?? null;
}

/**
 * Lets polling go on behind an update, in the transaction of what that changes; false where it has been there before.
 */
export async function passUpdate(run: Run, { bot, updateId, nowMs }: BotUpdate): Promise<boolean> {
  const rows = await run<{ bot: string }>(
    `INSERT INTO telegram_polls AS p (bot, next_update_id, at) VALUES ($1, $2::bigint + 1, $3)
     ON CONFLICT (bot) DO UPDATE SET next_update_id = EXCLUDED.next_update_id, at = EXCLUDED.at
     WHERE p.next_update_id < EXCLUDED.next_update_id OR p.at <= $3::bigint - $4
     RETURNING bot`,
    [bot, updateId, nowMs, POLL_GOOD_FOR_MS],
  );
  return rows.length > 0;
}
