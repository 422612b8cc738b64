import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf, memoryMbOf } from '../test/helpers/process-tree.ts';
import { temporaryFolder } from '../test/helpers/temporary-folder.ts';
import type { BenchContext } from './benchmark.ts';
import { startService } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const MONITORS = 50;

/** Bounds of CPU (percent of one core) and of memory, both including PostgreSQL. */
const CPU_PERCENT = 3;
const MEMORY_MB = 350;

/** Measures the cost of a nearly idle installation with embedded servers: `npm start` with 50 monitors at 60 s. */
export async function idle({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const { urls } = await startTarget(harness);
    const token = `spk_${randomBytes(24).toString('base64url')}`;
    const service = await startService(harness, { DATA_DIR: await temporaryFolder(harness), BOOTSTRAP_TOKEN: token });
    for (let index = 0; index < MONITORS; index += 1) {
      const { status } = await fetch(`${service.url}/v1/monitors`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: `Monitor ${index}`,
          target: `${urls[index % urls.length]}${index}`,
          interval_seconds: 60,
        }),
      });
      if (status !== 201) throw new Error(`A monitor was answered with ${status}`);
    }
    const seconds = isQuick ? 20 : 60;
    // The first checks also decide every monitor's first status, so they are not measured.
    await delay(65_000);
    const pids = [service.program.pid];
    const before = await cpuSecondsOf(pids);
    await delay(seconds * 1000);
    const percent = (((await cpuSecondsOf(pids)) - before) / seconds) * 100;
    const memory = await memoryMbOf(pids);
    report.figure(`ready ${readable(service.readyAfterMs / 1000)} s after its first start`);
    report.bound({ name: 'CPU of an idle installation', value: percent, unit: ' % of a core', atMost: CPU_PERCENT });
    report.bound({ name: 'memory of an idle installation', value: memory, unit: ' MB', atMost: MEMORY_MB });
  });
}
