import { cleanText } from '../../foreign-text.ts';
import type { CheckTarget } from '../../monitors/monitor.ts';
import type { Judgement } from '../verdict.ts';
import { findComponents } from './components.ts';
import { findVendorPage } from './page.ts';
import { type VendorSnapshot, overallOf, worstState, type VendorComponent, type VendorState } from './snapshot.ts';

/** What the verdict on a vendor depends on. */
type VendorExpectation = Pick<CheckTarget, 'target' | 'checkSpec'>;

/**
 * The verdict on what a vendor says of itself (D-28): operational = up, a major outage = down, anything between =
 * degraded. No vote where the page could not be read or does not list what is watched. Without components the vendor as
 * a whole counts.
 */
export function judgeVendor({
  target,
  observation,
}: {
  target: VendorExpectation;
  observation: VendorObservation;
}): Judgement {
  if (observation.outcome === 'unread')
    return { verdict: 'none', cause: 'vendor_unreachable', reason: observation.reason };

  const { snapshot } = observation;
  const watched = target.checkSpec.vendor?.components ?? [];
  const found = watched.map((text) => ({ text, parts: findComponents(snapshot, text) }));
  const parts = found.flatMap((one) => one.parts);
  const state = watched.length === 0 ? wholeState(snapshot) : worstState(parts.map((part) => part.state));
  if (state !== 'operational') {
    const troubled =
      watched.length === 0
        ? snapshot.components.filter((part) => part.state !== 'operational')
        : parts.filter((part) => part.state === state);
    const reason = describeTrouble({ vendor: nameOf(target, snapshot), state, troubled, snapshot });
    return { verdict: VERDICTS[state], cause: state === 'major' ? 'vendor_down' : 'vendor_degraded', reason };
  }
  const unlisted = snapshot.listsAll ? found.filter((one) => one.parts.length === 0).map(({ text }) => text) : [];
  if (unlisted.length === 0) return { verdict: 'up', cause: null, reason: null };
  return {
    verdict: 'none',
    cause: 'vendor_unreachable',
    reason: `The status page of ${nameOf(target, snapshot)} does not list ${listNames(unlisted)}`,
  };
}

const VERDICTS = {
  operational: 'up',
  maintenance: 'degraded',
  degraded: 'degraded',
  partial: 'degraded',
  major: 'down',
} as const satisfies Record<VendorState, string>;

const PHRASES = {
  operational: 'no trouble',
  maintenance: 'maintenance',
  degraded: 'degraded performance',
  partial: 'a partial outage',
  major: 'a major outage',
} as const satisfies Record<VendorState, string>;

const MOST_NAMES = 3;
const MAX_NAME = 60;
const MAX_TITLE = 160;

/** What the page says of the whole, unless its parts are worse than that. */
function wholeState({ overall, components }: VendorSnapshot): VendorState {
  return worstState([...(overall === null ? [] : [overall]), overallOf(components.map((part) => part.state))]);
}

type Trouble = { vendor: string; state: VendorState; troubled: readonly VendorComponent[]; snapshot: VendorSnapshot };

/** `GitHub reports a partial outage of Actions and Pages: Incident with Actions` */
function describeTrouble({ vendor, state, troubled, snapshot }: Trouble): string {
  const names = [...new Set(troubled.map(({ name }) => name))];
  const title = eventTitle(snapshot, troubled);
  const ofParts = names.length === 0 ? '' : ` of ${listNames(names)}`;
  const event = title === null ? '' : `: ${cleanText(title, MAX_TITLE)}`;
  return `${vendor} reports ${PHRASES[state]}${ofParts}${event}`;
}

/**
 * An event that names one of the components goes before one that names none; one that names others is not about this.
 */
function eventTitle({ events }: VendorSnapshot, troubled: readonly VendorComponent[]): string | null {
  const ids = new Set(troubled.map(({ id }) => id));
  const about =
    events.find(({ componentIds }) => componentIds.some((id) => ids.has(id))) ??
    events.find(({ componentIds }) => componentIds.length === 0);
  return (about ?? (troubled.length === 0 ? events[0] : undefined))?.title ?? null;
}

function nameOf({ target }: VendorExpectation, { name }: VendorSnapshot): string {
  const page = findVendorPage(target);
  return cleanText(page?.isInCatalog ? page.name : (name ?? page?.name ?? target), MAX_NAME);
}

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).map((name) => cleanText(name, MAX_NAME));
  const rest = names.length - shown.length;
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

type Measured = {
  type: 'vendor';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /**
   * How long the page took when it was last asked, in milliseconds, by whichever check asked it; null when it never
   * was.
   */
  latencyMs: number | null;
};

/** What the vendor says of itself, no older than D-28's shared reading allows. */
export type VendorRead = Measured & { outcome: 'read'; snapshot: VendorSnapshot };

/** The page could not be read, or is none; `reason` is a sentence for people. */
export type VendorUnread = Measured & { outcome: 'unread'; reason: string };

/** The facts of one lookup of a vendor's page. */
export type VendorObservation = VendorRead | VendorUnread;
