import { median } from './figures.ts';

const WARM_UP_ROUNDS = 3;
const PROBES_A_ROUND = 2000;
const IN_FLIGHT = 50;

/**
 * Measures the probes per CPU second of one core, 50 at a time: the median of several rounds. Throws if a probe does
 * not result in `outcome`: a failing probe is a fast one.
 */
export async function measureProbeRate<Outcome extends string>(
  probe: () => Promise<{ outcome: Outcome }>,
  { outcome, isQuick }: { outcome: Outcome; isQuick: boolean },
): Promise<number> {
  const first = await probe();
  if (first.outcome !== outcome) throw new Error(`The probe ${first.outcome}`);
  const rates: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + (isQuick ? 3 : 12); round += 1) {
    const rate = 1 / (await measureCpuSeconds(probe, { probes: PROBES_A_ROUND, inFlight: IN_FLIGHT }));
    if (round >= WARM_UP_ROUNDS) rates.push(rate);
  }
  return median(rates);
}

/** Returns the CPU seconds of this process per probe, of `probes` with several in flight at a time. */
export async function measureCpuSeconds(
  probe: () => Promise<unknown>,
  { probes, inFlight }: { probes: number; inFlight: number },
): Promise<number> {
  const before = process.cpuUsage();
  let started = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (started < probes) {
        started += 1;
        await probe();
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000_000 / probes;
}
