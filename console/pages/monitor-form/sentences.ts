import { worstDetectionSeconds } from '../../../core/checks/recheck.ts';
import { isAgentChecked } from '../../../core/monitors/monitor.ts';
import { DAY_SECONDS } from '../../../core/time.ts';
import type { Schemas } from '../../client/shapes.ts';
import { countLocations, defaultsOf, positive, type Surroundings } from './defaults.ts';
import type { Draft } from './draft.ts';
import { LIMITS } from './limits.ts';

/** Describes when the monitor is down, as the draft says; null for impossible values. */
export function describeDown(draft: Draft, surroundings: Surroundings): string | null {
  const { failures } = numbersOf(draft, surroundings);
  if (failures === null) return null;
  const inRow = failures === 1 ? 'one failed check' : `${failures} failed checks in a row`;
  if (!isAgentChecked(draft.type)) return `Down after ${inRow}.`;
  const locations = countLocations(draft, surroundings.sharedLocations);
  const quorum = draft.quorum.trim() === '' ? defaultsOf(draft, surroundings).quorum : positive(draft.quorum);
  if (quorum === null || quorum > Math.max(1, locations)) return null;
  if (locations <= 1) return `Down after ${inRow} from its only location.`;
  if (quorum === 1)
    return `Down as soon as 1 of ${locations} locations sees ${inRow}: fast, but prone to false alarms.`;
  if (quorum === locations) return `Down when all ${locations} locations see ${inRow}.`;
  return `Down when ${quorum} of ${locations} locations agree, each after ${inRow}.`;
}

/** Describes when a check gives up, and whether the draft says so; null for a heartbeat and for impossible values. */
export function describeTimeout(draft: Draft, surroundings: Surroundings): string | null {
  const { timeout } = numbersOf(draft, surroundings);
  if (draft.type === 'heartbeat' || timeout === null) return null;
  const after = `Each check times out after ${sayDuration(timeout / 1000)}`;
  return draft.timeout.trim() === '' ? `${after}, the default.` : `${after}.`;
}

/**
 * The longest time until an outage is reported, in seconds; null if it cannot be computed. With a schedule it counts
 * from the run.
 */
export function latestNotice(draft: Draft, surroundings: Surroundings): number | null {
  const { interval, timeout, failures, grace } = numbersOf(draft, surroundings);
  if (draft.type === 'domain' || interval === null) return null;
  if (draft.type === 'heartbeat')
    return grace === null ? null : draft.heartbeat.cron.trim() === '' ? interval + grace : grace;
  return timeout === null || failures === null
    ? null
    : worstDetectionSeconds({
        type: draft.type,
        intervalSeconds: interval,
        timeoutMs: timeout,
        downAfterFailures: failures,
      });
}

/** Formats seconds: `1 min 30 s`, below ten seconds to the millisecond as `2.5 s`, above them rounded up. */
export function sayDuration(exact: number): string {
  const seconds = exact < 10 ? Math.round(exact * 1000) / 1000 : Math.ceil(Math.round(exact * 1000) / 1000);
  const parts = [
    [Math.floor(seconds / DAY_SECONDS), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const said = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount} ${unit}`);
  return said.length === 0 ? '0 s' : said.join(' ');
}

function numbersOf(draft: Draft, surroundings: Surroundings) {
  const defaults = defaultsOf(draft, surroundings);
  const read = (text: string, standard: number | null, most = Infinity) => {
    const number = text.trim() === '' ? standard : positive(text);
    return number !== null && number <= most ? number : null;
  };
  return {
    interval: read(draft.interval, defaults.interval, LIMITS.interval_seconds.max),
    timeout: read(draft.timeout, defaults.timeout, LIMITS.timeout_ms.max),
    failures: read(draft.failures, defaults.failures),
    grace: draft.grace.trim() === '0' ? 0 : read(draft.grace, defaults.grace, LIMITS.grace_seconds.max),
  };
}

/** Suggests a name for a monitor from its target; empty if the target says nothing. */
export function suggestName(
  { type, target }: Pick<Draft, 'type' | 'target'>,
  vendors: readonly Schemas['Vendor'][],
): string {
  const written = target.trim();
  if (written === '' || type === 'heartbeat') return '';
  const vendor = type === 'vendor' ? vendors.find(({ id }) => id === written.toLowerCase())?.name : undefined;
  if (vendor !== undefined) return vendor;
  const url = URL.parse(written);
  const host = url === null || url.host === '' ? written : url.host + (url.pathname.length > 1 ? url.pathname : '');
  return host.slice(0, 255);
}
