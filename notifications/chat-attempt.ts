import { HOUR_MS } from '../core/time.ts';
import type { AttemptResult } from './attempt-result.ts';

/** What came of one attempt at a chat, beyond what a webhook's attempt can come to. */
export type ChatAttempt = AttemptResult & {
  /** How long the chat's server asked to be left alone, in milliseconds; null = it did not ask. */
  retryAfterMs: number | null;
  /**
   * Why nothing will reach the chat until it is connected again, as a sentence for the channel's owner; null = nothing
   * of the kind.
   */
  channelProblem: string | null;
  /**
   * The chat's new id where it has become another one, which the attempt then went to (Telegram only); null = it has
   * not.
   */
  movedTo: string | null;
};

/** Longer requests to be left alone are cut to this, in milliseconds: later an alert is no alert. */
export const MAX_RETRY_AFTER_MS = HOUR_MS;

/** The fields of an attempt of which nothing but its result is to be reported. */
export const NOTHING_MORE = { retryAfterMs: null, channelProblem: null, movedTo: null } as const satisfies Omit<
  ChatAttempt,
  keyof AttemptResult
>;
