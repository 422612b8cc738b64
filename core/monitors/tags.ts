/** Which monitors a channel gets the alerts of, beside those that it names: those with any, or all, of these tags. */
export type MonitorTags = { any: readonly string[] } | { all: readonly string[] };

/** Sorts tags by their characters' codes, each once. */
export function sortTags(tags: readonly string[]): string[] {
  return [...new Set(tags)].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
}

/** Whether the tags of a monitor are those that a channel asks for; never where it asks for none. */
export function matchesTags(tags: readonly string[], wanted: MonitorTags | null): boolean {
  if (wanted === null) return false;
  return 'any' in wanted ? wanted.any.some((tag) => tags.includes(tag)) : wanted.all.every((tag) => tags.includes(tag));
}
