/** Keeps the newest `most` entries of a map that has just grown: the one added longest ago goes. */
export function forgetOldest(entries: Map<string, unknown>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}
