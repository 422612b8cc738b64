import type { EchoOutcome } from './echo-means.ts';

const REPLY = /\b(?:icmp_)?seq=(?<sequence>\d+)\b.*\btime[=<](?<ms>[\d.]+) ms/;
const TRANSMITTED = /^(?<sent>\d+) packets transmitted/m;

/**
 * Reads what the ping of iputils or BusyBox printed; null where it says nowhere how many requests it sent, because it
 * could not. A request that was answered twice counts once.
 */
export function readPingOutput(text: string): EchoOutcome | null {
  const sent = Number(TRANSMITTED.exec(text)?.groups?.sent ?? 0);
  if (sent === 0) return null;
  const roundTrips = new Map<string, number>();
  for (const line of text.split('\n')) {
    const { sequence, ms } = REPLY.exec(line)?.groups ?? {};
    if (sequence !== undefined && !roundTrips.has(sequence)) roundTrips.set(sequence, Number(ms));
  }
  return { outcome: 'measured', sent, roundTripsMs: [...roundTrips.values()] };
}
