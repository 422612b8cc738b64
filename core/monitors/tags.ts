/** Which monitors a channel gets the alerts of, beside those that it names: those with any, or all, of these tags. */
export type MonitorTags = { any: readonly string[] } | { all: readonly string[] };

/** What a tag looks like: a word, or a key and a value. */
export const TAG = /^[A-Za-z0-9_][A-Za-z0-9._/-]{0,62}(:[A-Za-z0-9._/-]{1,64})?$/;

/** The most tags of a monitor, of an agent, and in each list of a channel's routing. */
export const MOST_TAGS = 20;

/** The tags in a text in which people separate them by commas or blanks, as they are written there. */
export function splitTags(text: string): string[] {
  return text.split(/[\s,]+/).filter((tag) => tag !== '');
}

/** Sorts tags by their characters' codes, each once. */
export function sortTags(tags: readonly string[]): string[] {
  return [...new Set(tags)].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
}

/** Whether the tags of a monitor are those that a channel asks for; never where it asks for none. */
export function matchesTags(tags: readonly string[], wanted: MonitorTags | null): boolean {
  if (wanted === null) return false;
  return 'any' in wanted ? wanted.any.some((tag) => tags.includes(tag)) : wanted.all.every((tag) => tags.includes(tag));
}
