import type { Schemas } from '../../client/api.ts';
import { joinWords } from '../../parts/figures.ts';
import { formatDay, formatEvery } from '../../parts/time.tsx';

type Monitor = Schemas['Monitor'];
type Check = Schemas['Check'];
type Location = Schemas['MonitorLocations']['locations'][number];

/** Types that the service itself checks, without agents. */
const WITHOUT_LOCATIONS: ReadonlySet<Monitor['type']> = new Set(['domain', 'dns', 'vendor', 'heartbeat']);

/** Reports whether agents in several locations check this type. */
export function hasLocations({ type }: Pick<Monitor, 'type'>): boolean {
  return !WITHOUT_LOCATIONS.has(type);
}

/** Returns the headline of a monitor's page. */
export function headline(
  { name, type, target, status }: Monitor,
  { isChecked, isOverdue }: { isChecked: boolean; isOverdue: boolean },
): string {
  if (status === 'paused') return `${name} is paused`;
  if (isOverdue && status === 'up') return `${name} was up at its last check`;
  if (status !== 'pending') return `${name} is ${status}`;
  if (target === '' && type !== 'heartbeat') return `${name} is a draft`;
  if (isChecked) return `The status of ${name} is unknown`;
  return type === 'heartbeat' ? `${name}: waiting for the first ping` : `${name}: waiting for the first check`;
}

/** Explains a status that has no incident; `newest` is the last check. */
export function explain(
  { type, target, status, interval_seconds: interval }: Monitor,
  { newest, isOverdue }: { newest: Check | undefined; isOverdue: boolean },
): string | null {
  if (status === 'paused')
    return type === 'heartbeat' ? 'No pings expected, no alerts sent.' : 'No checks run, no alerts sent.';
  if (isOverdue && status === 'up') return 'Its status may have changed since.';
  if (status !== 'pending') return null;
  if (target === '' && type !== 'heartbeat') return 'It has no target yet. Edit it to start monitoring.';
  if (newest === undefined)
    return type === 'heartbeat'
      ? 'Call the ping URL at the end of the job. An alert is sent if no ping arrives in time.'
      : `It is checked ${formatEvery(interval)}.${isOverdue ? '' : ' The first results will appear in a moment.'}`;
  const said = newest.verdict === 'up' ? null : reasonOf(newest);
  const reason = said === null ? '' : `${said} `;
  return newest.verdict === 'down' || newest.verdict === 'degraded'
    ? `${reason}Waiting for more checks to confirm it.`
    : `${reason}There are not enough recent results.`;
}

/** Returns the newest ping among a heartbeat's results; a missed deadline is not a ping. */
export function lastPing(checks: readonly Check[]): Check | undefined {
  return checks.find(({ ping }) => ping !== undefined && ping !== null);
}

/** Returns the newest check of each location, by the location's name. */
export function newestByLocation(checks: readonly Check[]): ReadonlyMap<string, Check> {
  const newest = new Map<string, Check>();
  for (const check of checks)
    if (check.source.name !== null && !newest.has(check.source.name)) newest.set(check.source.name, check);
  return newest;
}

/**
 * Describes from which locations the target fails and from which it does not, by the newest checks of those that count.
 * Without checks the incident's first locations count; null if there is nothing to compare.
 */
export function whoSees(
  { sources_down: atFirst }: Pick<Schemas['Incident'], 'sources_down'>,
  newest: ReadonlyMap<string, Check>,
): string | null {
  const named = (isOne: (verdict: Check['verdict']) => boolean) =>
    [...newest]
      .filter(([, { verdict }]) => isOne(verdict))
      .map(([name]) => name)
      .toSorted();
  const good = named((verdict) => verdict === 'up');
  const bad = newest.size === 0 ? atFirst : named((verdict) => verdict === 'down' || verdict === 'degraded');
  if (bad.length === 0) return good.length === 0 ? null : `OK from ${joinWords(good)}`;
  const failing = `Failing from ${joinWords(bad)}`;
  if (good.length > 0) return `${failing}; OK from ${joinWords(good)}`;
  return bad.length > 1 && bad.length === newest.size
    ? `Failing from ${bad.length === 2 ? 'both' : `all ${bad.length}`} locations: ${joinWords(bad)}`
    : failing;
}

/** Reasons why each status of a location does not count. */
export const NOT_COUNTED: Readonly<Record<Exclude<Location['status'], 'counted'>, string>> = {
  offline: 'offline',
  silent: 'no recent result',
  undecided: 'too few results so far',
  unable: 'cannot run the check',
};

/** Removes the number of locations from a reason, for use where the locations are named. */
export function withoutCount(reason: string): string {
  return reason.replace(/ \(seen from \d+ of \d+ (?:location|place)s\)/, '');
}

/**
 * Formats the dates in a domain's reason in the usual way, and removes the number of days left. Some of those have
 * passed since the reason was stored.
 */
export function withDates(reason: string): string {
  return reason
    .replace(/ in [\d,]+ days?, on (?=\d{4}-\d{2}-\d{2})/, ' on ')
    .replaceAll(/\d{4}-\d{2}-\d{2}/g, (date) => formatDay(Date.parse(date) / 1000));
}

/** Returns the reason of a check as a sentence; null if it has none. The text of a job's ping stays unchanged. */
export function reasonOf({ cause, reason, ping = null }: Check): string | null {
  if (reason === null || ping !== null) return reason;
  return sentence(cause?.startsWith('domain_') === true ? withDates(reason) : reason);
}

/**
 * Ends a text with a full stop if it has none, also in quotes. Its first letter is unchanged: it may be that of a
 * domain.
 */
export function sentence(text: string): string {
  return /[.!?]"?$/.test(text) ? text : `${text}.`;
}
