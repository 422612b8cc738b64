/** Keeps the newest of at most so many entries: what was added longest ago goes first. */
export function forgetOldest(entries: Map<string, unknown>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}
