/** Keeps the newest `most` entries of a map that has just gained one, by removing the oldest. */
export function forgetOldest(entries: Map<string, unknown>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}

/** Adds to the count of a key; a count that reaches zero, or would be less, is removed. */
export function addCount(counts: Map<string, number>, key: string, more: number): void {
  const count = (counts.get(key) ?? 0) + more;
  if (count <= 0) counts.delete(key);
  else counts.set(key, count);
}
