import { capitalize } from '../../client/failure.ts';
import type { Schemas } from '../../client/shapes.ts';
import { joinWords } from '../../parts/figures.ts';

type Monitor = Schemas['Monitor'];
type Check = Schemas['Check'];

/** Types that the service itself checks, without agents. */
const WITHOUT_LOCATIONS: ReadonlySet<Monitor['type']> = new Set(['domain', 'dns', 'vendor', 'heartbeat']);

/** Whether agents in several locations check this type. */
export function hasLocations({ type }: Pick<Monitor, 'type'>): boolean {
  return !WITHOUT_LOCATIONS.has(type);
}

/** The headline of a monitor's page. */
export function headline({ name, type, target, status }: Monitor, isChecked: boolean): string {
  if (status === 'paused') return `${name} is paused`;
  if (status !== 'pending') return `${name} is ${status}`;
  if (target === '' && type !== 'heartbeat') return `${name} is a draft`;
  if (isChecked) return `The state of ${name} is unknown`;
  return type === 'heartbeat' ? `${name} waits for its first ping` : `${name} waits for its first check`;
}

/** Explains a status that has no incident; `newest` is the last check. */
export function explain(
  { type, target, status, interval_seconds: interval }: Monitor,
  newest: Check | undefined,
): string | null {
  if (status === 'paused')
    return type === 'heartbeat'
      ? 'No ping is expected, and no alerts are sent.'
      : 'Nothing is checked, and no alerts are sent.';
  if (status !== 'pending') return null;
  if (target === '' && type !== 'heartbeat') return 'It has no target yet: edit it and say what to watch.';
  if (newest !== undefined)
    return (
      `${newest.verdict === 'none' && newest.reason !== null ? `${sentence(newest.reason)} ` : ''}There are not ` +
      'enough fresh results to tell. As soon as there are, this changes by itself.'
    );
  return type === 'heartbeat'
    ? 'Call its address at the end of the job; from then on a missing ping is an alert.'
    : `It is checked every ${interval} s; the first results are on their way.`;
}

/** The newest check of each location, by the location's name. */
export function newestByLocation(checks: readonly Check[]): ReadonlyMap<string, Check> {
  const newest = new Map<string, Check>();
  for (const check of checks)
    if (check.source.name !== null && !newest.has(check.source.name)) newest.set(check.source.name, check);
  return newest;
}

/**
 * Says which locations see a failure and which do not, by their newest checks. Without checks the incident's first
 * locations count; null if there is nothing to compare.
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
  if (bad.length === 0)
    return good.length === 0 ? null : `${joinWords(good)} ${good.length === 1 ? 'sees' : 'see'} it working`;
  const seers = `${joinWords(bad)} ${bad.length === 1 ? 'sees' : 'see'} it`;
  if (good.length > 0) return `${seers}, ${joinWords(good)} ${good.length === 1 ? 'does' : 'do'} not`;
  return bad.length > 1 && bad.length === newest.size
    ? `${bad.length === 2 ? 'Both locations' : `All ${bad.length} locations`} see it: ${joinWords(bad)}`
    : seers;
}

/** Removes the number of locations from a reason, for where the locations are named. */
export function withoutCount(reason: string): string {
  return reason.replace(/ \(seen from \d+ of \d+ (?:location|place)s\)/, '');
}

/** Ends a text with a full stop. */
export function sentence(text: string): string {
  const whole = capitalize(text);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
