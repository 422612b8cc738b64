/** Longer texts are compared by their beginnings: the work grows with the square. */
const MAX_COMPARED = 64;

/**
 * The candidates that a customer may have meant by `text`, best first, at most `limit`: those that contain it, and
 * those whose spelling differs in no more than a third of it. Case does not count.
 */
export function nearMatches(text: string, candidates: readonly string[], limit = 5): string[] {
  const wanted = fold(text);
  return [...new Set(candidates)]
    .map((candidate) => ({ candidate, distance: distanceTo(wanted, fold(candidate)) }))
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(wanted.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

function fold(text: string): string {
  return text.trim().toLowerCase().slice(0, MAX_COMPARED);
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
