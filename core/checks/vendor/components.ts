import { accepted, refused, type Parsed } from '../../foreign-text.ts';
import type { VendorComponent, VendorSnapshot } from './snapshot.ts';

/**
 * The parts of a page that a watched component stands for: the one of that id, or all of that name; case does not
 * count. Empty where the page lists no such part.
 */
export function findComponents({ components }: VendorSnapshot, watched: string): VendorComponent[] {
  const wanted = fold(watched);
  const byId = components.filter(({ id }) => fold(id) === wanted || isRegionOf(id, wanted));
  return byId.length > 0 ? byId : components.filter(({ name }) => fold(name) === wanted);
}

/**
 * A component as it is stored. The page's own spelling of its name, or its id where the id was given of one whose name
 * several share. Refused with near matches where the page has none.
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

/** AWS reports trouble with a whole region as `*:region`. */
function isRegionOf(id: string, wanted: string): boolean {
  return id.startsWith('*:') && wanted.endsWith(id.slice(1).toLowerCase());
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}

/** Longer texts are compared by their beginnings: the work grows with the square. */
const MAX_COMPARED = 64;

/**
 * The candidates that a customer may have meant by `text`, best first, at most `limit`. Those that contain it, and
 * those whose spelling differs in no more than a third of it. Case does not count.
 */
export function nearMatches(text: string, candidates: readonly string[], limit = 5): string[] {
  const wanted = cut(text);
  return [...new Set(candidates)]
    .map((candidate) => ({ candidate, distance: distanceTo(wanted, cut(candidate)) }))
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(wanted.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
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

/** Levenshtein's distance, a row at a time. */
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
