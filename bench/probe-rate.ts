import { median } from './figures.ts';

const WARM_UP_ROUNDS = 3;
const PROBES_A_ROUND = 2000;
const IN_FLIGHT = 50;

/** How many probes one core makes in a second of its own time, whatever else the machine does: the median of several rounds, 50 probes under way at a time. */
export async function measureProbeRate(probe: () => Promise<unknown>, { isQuick }: { isQuick: boolean }): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + (isQuick ? 3 : 12); round += 1) {
    const rate = await measureRound(probe);
    if (round >= WARM_UP_ROUNDS) rates.push(rate);
  }
  return median(rates);
}

async function measureRound(probe: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  let started = 0;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (started < PROBES_A_ROUND) {
        started += 1;
        await probe();
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (PROBES_A_ROUND / (user + system)) * 1_000_000;
}
