import type { ProcessName } from '../../config/processes.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import type { Installation } from './installation.ts';
import { REGION } from './monitors.ts';
import { startProcess, type Service } from './running-service.ts';

/** A fleet with one process of each kind, by name. */
export type RunningFleet = Readonly<Record<ProcessName, Service>>;

/** Starts every process of the Procfile on its own, and waits until all report that they are ready. */
export async function startFleet(harness: Harness, { env }: Installation): Promise<RunningFleet> {
  const [web, check, evaluate, deliver, maintain, clock] = await Promise.all([
    startProcess(harness, 'web', env),
    startProcess(harness, 'check', { ...env, AGENT_REGION: REGION }),
    startProcess(harness, 'evaluate', env),
    startProcess(harness, 'deliver', env),
    startProcess(harness, 'maintain', env),
    startProcess(harness, 'clock', env),
  ]);
  return { web, check, evaluate, deliver, maintain, clock };
}
