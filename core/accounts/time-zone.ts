/** How the console writes the time of day to a person: as their browser does, with 12 or with 24 hours. */
export type Clock = 'browser' | '12h' | '24h';

/** The zone of whichever browser the console is open in; every other one is UTC or named. */
export const BROWSER_ZONE = 'browser';

/** Offsets such as `+05:00` are no zones: they know no summer time. */
const NAME = /^[A-Za-z][\w+/-]*$/;

/** Whether a text is `browser`, `UTC` or a zone of the IANA time zone database, such as `Europe/Berlin`. */
export function isTimeZone(zone: string): boolean {
  return zone === BROWSER_ZONE || (NAME.test(zone) && isKnown(zone));
}

function isKnown(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
