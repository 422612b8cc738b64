import { accepted, refused, type Parsed } from '../../parsed.ts';
import { nearMatches } from './near-matches.ts';
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
 * A component as it is stored: the page's own spelling of its name, or its id where the id was given of one whose name
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
