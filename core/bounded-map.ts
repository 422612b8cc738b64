/** Keeps the newest `most` entries of a map that has just gained one, by removing the oldest. */
export function forgetOldest(entries: Map<string, unknown>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}
