import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import type { Run } from '../sql.ts';

/**
 * Telegram repeats an update for at most a day. This is twice that, to allow for clocks and outages, and far less than
 * the quiet week after which numbering restarts anywhere, so that no new update is mistaken for an old one.
 */
const UPDATE_GOOD_FOR_MS = 2 * DAY_MS;

/** A bot's update, by the bot's name and the update's number. */
export type BotUpdate = { bot: string; updateId: number; nowMs: number };

/**
 * Takes an update in the transaction of its changes; false if that was done before. Updates may arrive in any order,
 * and twice concurrently: the second waits for the first one's transaction, and takes the update if that fails.
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

/** Deletes updates that Telegram cannot repeat any more; returns their number. */
export async function deleteOldUpdates({ pool }: Database, nowMs: number): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM telegram_updates WHERE at <= $1', [nowMs - UPDATE_GOOD_FOR_MS]);
  return rowCount ?? 0;
}

/**
 * Maximum age of a record of where polling continues, in milliseconds. Telegram keeps updates for a day, and after a
 * quiet week it restarts numbering anywhere.
 */
const POLL_GOOD_FOR_MS = DAY_MS;

/** Returns the number of the first update not requested yet; null = all that Telegram still keeps. */
export async function findNextUpdate(run: Run, { bot, nowMs }: { bot: string; nowMs: number }): Promise<number | null> {
  const [row] = await run<{ next_update_id: number }>(
    'SELECT next_update_id FROM telegram_polls WHERE bot = $1 AND at > $2',
    [bot, nowMs - POLL_GOOD_FOR_MS],
  );
  return row?.next_update_id ?? null;
}

/** Advances polling past an update, in the transaction of its changes; false if it was passed before. */
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
