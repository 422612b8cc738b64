import type { Installation } from './installation.ts';
import { REGION } from './monitors.ts';
import { startWeb, startWorker, type Service } from './running-service.ts';
import type { Stand } from './stand.ts';

/** The Procfile's processes, one of each kind, by name. */
export type RunningFleet = Readonly<Record<'web' | 'check' | 'evaluate' | 'deliver' | 'maintain' | 'clock', Service>>;

/** Starts every process of the Procfile as a process of its own and waits until all of them say that they are ready. */
export async function startFleet(stand: Stand, { env }: Installation): Promise<RunningFleet> {
  const [web, check, evaluate, deliver, maintain, clock] = await Promise.all([
    startWeb(stand, env),
    startWorker(stand, 'check', { ...env, AGENT_REGION: REGION }),
    startWorker(stand, 'evaluate', env),
    startWorker(stand, 'deliver', env),
    startWorker(stand, 'maintain', env),
    startWorker(stand, 'clock', env),
  ]);
  return { web, check, evaluate, deliver, maintain, clock };
}
