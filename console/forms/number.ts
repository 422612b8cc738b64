/**
 * The number that is written; what is none is sent as it was written, for the service to say what it wants there: the
 * type tells what is meant, not what may come.
 */
export function numberOf(text: string): number {
  const number = Number(text);
  return Number.isFinite(number) ? number : (text as unknown as number);
}
