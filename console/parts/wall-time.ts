/** Formats Unix seconds as the value of a date and time input, in a zone. */
export function toWallTime(at: number, zone: string): string {
  // Swedish dates have the format of ISO 8601: 2026-11-23 14:05:00.
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone: zone });
  return format.format(at * 1000).replace(' ', 'T');
}

/**
 * Parses the value of such an input to Unix seconds. Returns null without a date, or with a year before 1970 or after
 * 2999, as while one is typed. An hour that a zone skips counts as the next.
 */
export function fromWallTime(text: string, zone: string): number | null {
  if (!/^(?:19[7-9]|2\d\d)\d-/.test(text)) return null;
  const asUtc = Date.parse(`${text}Z`) / 1000;
  if (Number.isNaN(asUtc)) return null;
  const offsetAt = (at: number) => Date.parse(`${toWallTime(at, zone)}Z`) / 1000 - at;
  // The offset of the first guess is at most that of the other side of a clock change.
  const guess = asUtc - offsetAt(asUtc);
  const at = asUtc - offsetAt(guess);
  return at + offsetAt(at) === asUtc ? at : Math.max(guess, at);
}
