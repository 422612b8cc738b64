/**
 * Text from outside made fit to be stored and shown: at most `maxLength` characters, no control characters (PostgreSQL
 * takes no NUL, logs and terminals no escape sequences), no halves of surrogate pairs.
 */
export function cleanText(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
}
