import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import { startProgram } from '../test/helpers/program.ts';
import { temporaryFolder } from '../test/helpers/temporary-folder.ts';
import type { BenchContext } from './benchmark.ts';
import { forkChild } from './harness/child.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const MONITORS = 50;
const INTERVAL_SECONDS = 60;

/** Bounds of CPU (percent of one core) and of resident memory including shared pages of the runtime. */
const CPU_PERCENT = 0.5;
const MEMORY_MB = 90;

/** Measures the cost of a customer's agent that is nearly idle: 50 http monitors at 60 s. */
export async function agentIdle({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const { urls } = await startTarget(harness);
    const service = await forkChild<string>(harness, 'agent-service', {
      targets: urls,
      monitors: MONITORS,
      intervalSeconds: INTERVAL_SECONDS,
    });
    const results = () => service.ask<number>({});
    const agent = startProgram(harness, ['agent/main.ts'], {
      SPOTCHECK_URL: service.ready,
      SPOTCHECK_AGENT_TOKEN: 'spa_bench',
      DATA_DIR: await temporaryFolder(harness),
    });
    const seconds = isQuick ? 20 : 60;
    // The first checks, and the code compiled for them, count as the start.
    await delay((isQuick ? 15 : 65) * 1000);
    const before = { cpu: await cpuSecondsOf([agent.pid]), results: await results() };
    if (before.results < MONITORS) throw new Error(`The agent has sent ${before.results} results: ${agent.output()}`);
    await delay(seconds * 1000);
    const percent = (((await cpuSecondsOf([agent.pid])) - before.cpu) / seconds) * 100;
    report.figure(`${readable((await results()) - before.results)} results in ${seconds} s`);
    report.bound({ name: 'CPU of an idle agent', value: percent, unit: ' % of a core', atMost: CPU_PERCENT });
    report.bound({
      name: 'resident memory of an idle agent',
      value: await residentMbOf(agent.pid),
      unit: ' MB',
      atMost: MEMORY_MB,
    });
  });
}

async function residentMbOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}
