/** Writes Unix seconds as an input of a date and a time reads them, in a zone. */
export function toWallTime(at: number, zone: string): string {
  // Swedish dates are those of ISO 8601: 2026-11-23 14:05:00.
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone: zone });
  return format.format(at * 1000).replace(' ', 'T');
}

/**
 * Reads what such an input has as Unix seconds. It is null without a date, or with a year before 1970 or after 2999, as
 * while one is typed. An hour that a zone skips counts as the next.
 */
export function fromWallTime(text: string, zone: string): number | null {
  if (!/^(?:19[7-9]|2\d\d)\d-/.test(text)) return null;
  const asUtc = Date.parse(`${text}Z`) / 1000;
  if (Number.isNaN(asUtc)) return null;
  const offsetAt = (at: number) => Date.parse(`${toWallTime(at, zone)}Z`) / 1000 - at;
  // The offset of the first guess is that of the other side of a change of clocks at most.
  const guess = asUtc - offsetAt(asUtc);
  const at = asUtc - offsetAt(guess);
  return at + offsetAt(at) === asUtc ? at : Math.max(guess, at);
}
