import { accepted, refused, type Parsed } from './foreign-text.ts';
import { BROWSER_ZONE, DAY_MS } from './time.ts';

/** Zones that `Intl` lists under the names that CLDR keeps, with their present names in the IANA time zone database. */
const RENAMED: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/** Older names missing from every list, where the database does not write each word with one capital. */
const ODD_SPELLINGS = (
  'America/Argentina/ComodRivadavia America/Knox_IN Australia/ACT Australia/LHI Australia/NSW ' +
  'Brazil/DeNoronha Chile/EasterIsland Mexico/BajaNorte Mexico/BajaSur CET CST6CDT EET EST EST5EDT GB ' +
  'GB-Eire GMT GMT+0 GMT-0 GMT0 HST MET MST MST7MDT NZ NZ-CHAT PRC PST8PDT ROC ROK UCT UTC W-SU WET'
).split(' ');

/** Offsets such as `+05:00` are not zones: they have no daylight saving time. */
const ZONE_NAME = /^[A-Za-z][\w+/-]*$/;

/**
 * Returns the name of a zone as the IANA time zone database writes it, ignoring case: `Asia/Kolkata` for
 * `asia/kolkata`. An older name stays as it is. `browser` is itself; null for everything that is not a zone.
 */
export function readTimeZone(text: string): string | null {
  if (text === BROWSER_ZONE) return text;
  if (!ZONE_NAME.test(text) || resolve(text) === null) return null;
  const name = text.toLowerCase();
  const listed = [...Intl.supportedValuesOf('timeZone'), ...Object.values(RENAMED), ...ODD_SPELLINGS];
  return listed.find((each) => each.toLowerCase() === name) ?? writtenName(name);
}

/** Reads a named zone, which excludes the browser's; the message of a refusal names `field`. */
export function readNamedZone(field: string, text: string): Parsed<string> {
  const zone = readTimeZone(text);
  if (zone !== null && zone !== BROWSER_ZONE) return accepted(zone);
  const given = JSON.stringify(text.slice(0, 64));
  return refused(`${field} must be a zone of the IANA time zone database, such as Europe/Berlin, got ${given}`);
}

/** Lists the zones that this program supports by their present names, in order, without UTC. */
export function listTimeZones(): string[] {
  const names = Intl.supportedValuesOf('timeZone').map(currentTimeZone);
  return [...new Set(names)].filter((name) => name !== 'UTC').toSorted();
}

/** Returns the present name for a zone that `Intl` gave; the same one if this program supports no newer one. */
export function currentTimeZone(zone: string): string {
  const renamed = RENAMED[zone];
  return renamed === undefined || resolve(renamed) === null ? zone : renamed;
}

function resolve(zone: string): string | null {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** Capitalizes each word, except that two regions are abbreviations. */
function writtenName(name: string): string {
  return name
    .replaceAll(/(?<=^|[/_-])[a-z]/g, (letter) => letter.toUpperCase())
    .replace(/^Us\//, 'US/')
    .replace(/^Etc\/(Gmt|Uct|Utc)/, (text) => `Etc/${text.slice(4).toUpperCase()}`);
}

/** Formatters by zone: creating one takes a hundred times as long as using it. */
const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Maximum number of cached formatters. */
const MAX_FORMATS = 100;

/**
 * Converts a moment to local time in a zone, as Unix milliseconds of the same date and time in UTC. The zone is one
 * that `readTimeZone` accepts, but not `browser`; one that this program does not know counts as UTC (D-757).
 */
export function toLocalTime(unixMs: number, zone: string): number {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(unixMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((unixMs % 1000) + 1000) % 1000);
}

/**
 * Converts a local time in a zone, given as Unix milliseconds of the same date and time in UTC, to a moment. For an
 * ambiguous time this is the first of the two, for a skipped time the first moment after the gap.
 */
export function toInstant(localMs: number, zone: string): number {
  const offsetAt = (unixMs: number) => toLocalTime(unixMs, zone) - unixMs;
  const candidates = [...new Set([localMs - DAY_MS, localMs + DAY_MS].map((near) => localMs - offsetAt(near)))];
  const found = candidates.filter((unixMs) => toLocalTime(unixMs, zone) === localMs);
  if (found.length > 0) return Math.min(...found);
  // The clocks skip this time: the later of the two moments is after the gap.
  let [before, after] = [Math.min(...candidates) - DAY_MS, Math.max(...candidates) + DAY_MS];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (toLocalTime(middle, zone) > localMs) after = middle;
    else before = middle;
  }
  return after;
}

/**
 * `toInstant` of one zone for many local times. Offsets are cached by UTC day, so that a year costs some 400
 * conversions regardless of the number of times. Only times near a clock change are converted one by one.
 */
export function momentReader(zone: string): (localMs: number) => number {
  const offsets = new Map<number, number>();
  const offsetOn = (day: number) => {
    const kept = offsets.get(day) ?? toLocalTime(day * DAY_MS, zone) - day * DAY_MS;
    offsets.set(day, kept);
    return kept;
  };
  return (localMs) => {
    const day = Math.floor(localMs / DAY_MS);
    const offset = offsetOn(day - 1);
    return offset === offsetOn(day + 2) ? localMs - offset : toInstant(localMs, zone);
  };
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const kept = FORMATS.get(zone);
  if (kept !== undefined) return kept;
  if (FORMATS.size >= MAX_FORMATS) FORMATS.clear();
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: resolve(zone) === null ? 'UTC' : zone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  FORMATS.set(zone, format);
  return format;
}
