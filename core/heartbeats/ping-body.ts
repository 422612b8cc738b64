/** What is stored of a ping's body, in bytes (D-29). */
export const MAX_PING_BODY_BYTES = 10_000;

/**
 * A body made fit to be stored: lines and tabs stay, other control characters go (PostgreSQL takes no NUL). Null where
 * nothing is left.
 */
export function cleanPingBody(text: string): string | null {
  const cleaned = text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
  return cleaned === '' ? null : cleaned;
}

/** The first line of a cleaned body, for the sentence of an alert; null = there is no body. */
export function firstLineOf(body: string | null): string | null {
  return body?.split('\n', 1)[0]?.trim() ?? null;
}
