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
  const listed = watched.length === 0 ? [] : listComponents(snapshot);
  const found = watched.map((text) => ({ text, parts: findComponents(listed, text) }));
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

/** A component of a page, and its id and name as they are compared, which is often. */
type ListedComponent = { component: VendorComponent; id: string; name: string };

function listComponents({ components }: VendorSnapshot): ListedComponent[] {
  return components.map((component) => ({ component, id: fold(component.id), name: fold(component.name) }));
}

/**
 * Finds the parts of a page that match a watched component: the one with that id, or all with that name, ignoring case.
 * Empty if the page lists no such part.
 */
function findComponents(listed: readonly ListedComponent[], watched: string): VendorComponent[] {
  const wanted = fold(watched);
  const byId = listed.filter(({ id }) => id === wanted || isRegionOf(id, wanted));
  const found = byId.length > 0 ? byId : listed.filter(({ name }) => name === wanted);
  return found.map(({ component }) => component);
}

/** Number of a page's names compared for one write, after which no further near matches are found (D-750). */
const MAX_NAMES_COMPARED = 2000;

/**
 * Makes a function that returns the stored form of a component of a page. It is the name as the page spells it, or the
 * id if that was given and several components share the name. Refused with near matches if the page has none.
 */
export function componentResolver(snapshot: VendorSnapshot): (text: string) => Parsed<string> {
  const listed = listComponents(snapshot);
  let compared = 0;
  return (text) => {
    const [first, ...others] = findComponents(listed, text);
    if (first === undefined) {
      const names = compared < MAX_NAMES_COMPARED ? snapshot.components.map(({ name }) => name) : [];
      compared += names.length;
      return refused(missing(snapshot, { text, near: nearMatches(text, names) }));
    }
    const namesakes = findComponents(listed, first.name);
    return accepted(others.length === 0 && namesakes.length > 1 ? first.id : first.name);
  };
}

function missing({ components }: VendorSnapshot, { text, near }: { text: string; near: readonly string[] }): string {
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
  return id.startsWith('*:') && wanted.endsWith(id.slice(1));
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}

/** Longer texts are compared only up to this length: the work is quadratic. */
const MAX_COMPARED = 64;

/** Number of candidates that are compared in full: those with the most characters in common, then at equal places. */
const MAX_MEASURED = 20;

const MAX_NEAR = 5;

/**
 * Returns the candidates that a customer may have meant by `text`, best first, at most `MAX_NEAR`. They contain it, or
 * differ from its spelling in no more than a third of it, ignoring case. Takes linear time but for `MAX_MEASURED` of
 * them, because a page may have thousands (D-750).
 */
export function nearMatches(text: string, candidates: readonly string[]): string[] {
  const wanted = cut(text);
  const similar = closest([...new Set(candidates)], wanted, countDifferent).slice(0, MAX_MEASURED);
  return closest(similar, wanted, editDistance).slice(0, MAX_NEAR);
}

/**
 * Returns the candidates within the permitted distance, nearest first; of equal ones, those with more characters at
 * equal places. One that contains the text is at distance 1.
 */
function closest(
  candidates: readonly string[],
  wanted: string,
  distanceOf: (wanted: string, candidate: string) => number,
): string[] {
  return candidates
    .map((candidate) => ({ candidate, folded: cut(candidate) }))
    .map((one) => ({ ...one, isPart: contains(wanted, one.folded) }))
    .map((one) => ({ ...one, distance: one.isPart ? 1 : distanceOf(wanted, one.folded) }))
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(wanted.length / 3)))
    .map((one) => ({ ...one, aligned: one.isPart ? 2 * MAX_COMPARED : countAligned(wanted, one.folded) }))
    .toSorted((a, b) => a.distance - b.distance || b.aligned - a.aligned)
    .map(({ candidate }) => candidate);
}

function cut(text: string): string {
  return fold(text).slice(0, MAX_COMPARED);
}

function contains(wanted: string, candidate: string): boolean {
  return wanted.length >= 3 && (candidate.includes(wanted) || (candidate.length >= 3 && wanted.includes(candidate)));
}

/**
 * Returns how many characters of one text the other lacks, in any order: never more than `editDistance`. Characters of
 * equal codes modulo 128 count as equal.
 */
function countDifferent(a: string, b: string): number {
  const left = new Uint8Array(128);
  for (let at = 0; at < a.length; at += 1) {
    const slot = a.charCodeAt(at) % 128;
    left[slot] = (left[slot] ?? 0) + 1;
  }
  let common = 0;
  for (let at = 0; at < b.length; at += 1) {
    const slot = b.charCodeAt(at) % 128;
    if (!left[slot]) continue;
    left[slot] -= 1;
    common += 1;
  }
  return Math.max(a.length, b.length) - common;
}

/** Returns how many characters are equal at the same place from the start, plus those so from the end. */
function countAligned(a: string, b: string): number {
  let aligned = 0;
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    if (a.charCodeAt(at) === b.charCodeAt(at)) aligned += 1;
    if (a.charCodeAt(a.length - 1 - at) === b.charCodeAt(b.length - 1 - at)) aligned += 1;
  }
  return aligned;
}

/** Computes Levenshtein's distance in one row: `diagonal` is the value that the row before had to the left. */
function editDistance(a: string, b: string): number {
  const row = Uint8Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    let diagonal = i - 1;
    row[0] = i;
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = diagonal + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1);
      diagonal = row[j] ?? 0;
      row[j] = Math.min(replaced, diagonal + 1, (row[j - 1] ?? 0) + 1);
    }
  }
  return row[b.length] ?? 0;
}
