/**
 * Grid of ticks, in milliseconds: waking up once for several checks costs less than for each of them. It divides a
 * second evenly.
 */
const GRID_MS = 10;

/**
 * Returns the offset of a monitor's ticks within its interval on an agent with its own clock, from 0 to below the
 * interval, in milliseconds. It depends only on the names, so that a restart keeps it, and a monitor's agents check at
 * different times.
 */
export function agentOffsetMs({
  sourceKey,
  monitorId,
  intervalSeconds,
}: {
  sourceKey: string;
  monitorId: string;
  intervalSeconds: number;
}): number {
  const positions = (intervalSeconds * 1000) / GRID_MS;
  return Math.floor((hash(`${sourceKey}/${monitorId}`) / 2 ** 32) * positions) * GRID_MS;
}

/** Returns the first tick after a moment, both in Unix milliseconds: intervals count from the Unix epoch. */
export function nextTickMs(
  { offsetMs, intervalSeconds }: { offsetMs: number; intervalSeconds: number },
  afterMs: number,
): number {
  const everyMs = intervalSeconds * 1000;
  return (Math.floor((afterMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}

/**
 * FNV-1a over the characters and then MurmurHash3's finaliser, which spreads names that differ only in their last
 * letter; 32 bits, unsigned.
 */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
