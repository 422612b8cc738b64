import type { Run } from '../sql.ts';
import type { BotUpdate } from './telegram-updates.ts';

/**
 * Telegram keeps updates for a day, and after a quiet week it numbers them from anywhere: an older mark says nothing of
 * what comes, in milliseconds.
 */
const GOOD_FOR_MS = 86_400_000;

/** The first update that has not been asked for yet; null = whatever Telegram still keeps. */
export async function findNextUpdate(run: Run, { bot, nowMs }: { bot: string; nowMs: number }): Promise<number | null> {
  const [row] = await run<{ next_update_id: number }>(
    'SELECT next_update_id FROM telegram_polls WHERE bot = $1 AND at > $2',
    [bot, nowMs - GOOD_FOR_MS],
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
    [bot, updateId, nowMs, GOOD_FOR_MS],
  );
  return rows.length > 0;
}
