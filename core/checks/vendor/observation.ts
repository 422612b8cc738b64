import { accepted, cleanText, refused, type Parsed } from '../../foreign-text.ts';
import type { CheckTarget } from '../../monitors/monitor.ts';
import { UP, type Judgement } from '../verdict.ts';
import { findVendorPage } from './page.ts';
import { overallOf, worstState, type VendorComponent, type VendorSnapshot, type VendorState } from './snapshot.ts';

/** Inputs of the verdict on a vendor. */
type VendorExpectation = Pick<CheckTarget, 'target' | 'checkSpec'>;

/**
 * Judges a vendor by its own status page (D-28): operational = up, a major outage = down, anything between = degraded.
 * No vote if the page could not be read or does not list the watched components. Without components the vendor as a
 * whole counts.
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
  if (unlisted.length === 0) return UP;
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

const MAX_NAMES = 3;
const MAX_NAME = 60;
const MAX_TITLE = 160;

/** Returns the page's overall state, unless its parts are worse. */
function wholeState({ overall, components }: VendorSnapshot): VendorState {
  return worstState([...(overall === null ? [] : [overall]), overallOf(components.map((part) => part.state))]);
}

type Trouble = { vendor: string; state: VendorState; troubled: readonly VendorComponent[]; snapshot: VendorSnapshot };

/** Writes sentences such as `GitHub reports a partial outage of Actions and Pages: Incident with Actions`. */
function describeTrouble({ vendor, state, troubled, snapshot }: Trouble): string {
  const names = [...new Set(troubled.map(({ name }) => name))];
  const title = eventTitle(snapshot, troubled);
  const ofParts = names.length === 0 ? '' : ` of ${listNames(names)}`;
  const event = title === null ? '' : `: ${cleanText(title, MAX_TITLE)}`;
  return `${vendor} reports ${PHRASES[state]}${ofParts}${event}`;
}

/** An event that names one of the components precedes one that names none; one that names others does not apply. */
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
  const shown = names.slice(0, MAX_NAMES).map((name) => cleanText(name, MAX_NAME));
  const rest = names.length - shown.length;
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

type Measured = {
  type: 'vendor';
  /** Start of the probe, in Unix milliseconds. */
  startedAt: number;
  /** Duration of the last request of the page, in milliseconds, by any check; null if there was none. */
  latencyMs: number | null;
};

/** The vendor's own status, no older than D-28's shared reading allows. */
type VendorRead = Measured & { outcome: 'read'; snapshot: VendorSnapshot };

/** The page could not be read, or is no status page; `reason` is a sentence for people. */
type VendorUnread = Measured & { outcome: 'unread'; reason: string };

/** Facts of one lookup of a vendor's page. */
export type VendorObservation = VendorRead | VendorUnread;

/**
 * Finds the parts of a page that match a watched component: the one with that id, or all with that name, ignoring case.
 * Empty if the page lists no such part.
 */
function findComponents({ components }: VendorSnapshot, watched: string): VendorComponent[] {
  const wanted = fold(watched);
  const byId = components.filter(({ id }) => fold(id) === wanted || isRegionOf(id, wanted));
  return byId.length > 0 ? byId : components.filter(({ name }) => fold(name) === wanted);
}

/**
 * Returns the stored form of a component. It is the name as the page spells it, or the id if that was given and several
 * components share the name. Refused with near matches if the page has none.
 */
export function resolveComponent(snapshot: VendorSnapshot, text: string): Parsed<string> {
  const [first, ...others] = findComponents(snapshot, text);
  if (first === undefined) return refused(missing(snapshot, text));
  const namesakes = findComponents(snapshot, first.name);
  return accepted(others.length === 0 && namesakes.length > 1 ? first.id : first.name);
}

function missing({ components }: VendorSnapshot, text: string): string {
  const near = nearMatches(
    text,
    components.map(({ name }) => name),
  );
  const shown =
    near.length > 0
      ? `did you mean ${near.map((name) => JSON.stringify(name)).join(', ')}?`
      : `it has ${listSome(components)}`;
  return `${JSON.stringify(text)} is not on the status page; ${shown}`;
}

function listSome(components: readonly VendorComponent[]): string {
  const names = [...new Set(components.map(({ name }) => name))];
  if (names.length === 0) return 'no components';
  const rest = names.length - 5;
  return (
    names
      .slice(0, 5)
      .map((name) => JSON.stringify(name))
      .join(', ') + (rest > 0 ? ` and ${rest} more` : '')
  );
}

/** AWS reports trouble in a whole region as `*:region`. */
function isRegionOf(id: string, wanted: string): boolean {
  return id.startsWith('*:') && wanted.endsWith(id.slice(1).toLowerCase());
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}

/** Longer texts are compared only up to this length: the work is quadratic. */
const MAX_COMPARED = 64;

const MAX_NEAR = 5;

/**
 * Returns the candidates that a customer may have meant by `text`, best first, at most `MAX_NEAR`. They contain it, or
 * differ from its spelling in no more than a third of it, ignoring case.
 */
export function nearMatches(text: string, candidates: readonly string[]): string[] {
  const wanted = cut(text);
  return [...new Set(candidates)]
    .map((candidate) => ({ candidate, distance: distanceTo(wanted, cut(candidate)) }))
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(wanted.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_NEAR)
    .map(({ candidate }) => candidate);
}

function cut(text: string): string {
  return fold(text).slice(0, MAX_COMPARED);
}

function distanceTo(wanted: string, candidate: string): number {
  if (wanted.length >= 3 && (candidate.includes(wanted) || (candidate.length >= 3 && wanted.includes(candidate))))
    return 1;
  return editDistance(wanted, candidate);
}

/** Computes Levenshtein's distance row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
