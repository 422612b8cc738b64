import type { Harness } from '../../test/helpers/harness.ts';
import type { Installation } from './installation.ts';
import { REGION } from './monitors.ts';
import { startWeb, startWorker, type Service } from './running-service.ts';

/** The Procfile's processes, one of each kind, by name. */
export type RunningFleet = Readonly<Record<'web' | 'check' | 'evaluate' | 'deliver' | 'maintain' | 'clock', Service>>;

/** Starts every process of the Procfile on its own, and waits until all report that they are ready. */
export async function startFleet(harness: Harness, { env }: Installation): Promise<RunningFleet> {
  const [web, check, evaluate, deliver, maintain, clock] = await Promise.all([
    startWeb(harness, env),
    startWorker(harness, 'check', { ...env, AGENT_REGION: REGION }),
    startWorker(harness, 'evaluate', env),
    startWorker(harness, 'deliver', env),
    startWorker(harness, 'maintain', env),
    startWorker(harness, 'clock', env),
  ]);
  return { web, check, evaluate, deliver, maintain, clock };
}
