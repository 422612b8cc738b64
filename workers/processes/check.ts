import { registerSharedAgent, touchAgent } from '../../models/agents.ts';
import { openAgentProbe, openServiceProbe } from '../../probes/index.ts';
import { SERVICE_REGION } from '../../queues/names.ts';
import { workOnChecks } from '../check/check-queue.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

export type CheckProcessOptions = { region: string; version: string; allowPrivateNetwork: boolean };

/** A sign of life of the agent, every so often, in milliseconds. */
const TOUCH_EVERY_MS = 15_000;

/** Starts the probes of one shared agent, which registers itself by its region. */
export async function startCheck(runtime: Runtime, options: CheckProcessOptions): Promise<RunningProcess> {
  const { database, now } = runtime;
  const { region, version } = options;
  const agent = await registerSharedAgent(database, { newId: runtime.newId('agt'), region, version, arch: process.arch, nowMs: now() });
  const log = runtime.log.child({ region, agent_id: agent.id });
  const { probe, close } = openAgentProbe({ allowPrivateNetwork: options.allowPrivateNetwork });
  const work = workOnChecks({ ...runtime, log }, { region, probe });
  const touching = setInterval(() => {
    touchAgent(database, agent.no, now()).catch((error: unknown) => log.warn({ err: error }, 'agent.not_touched'));
  }, TOUCH_EVERY_MS);
  return {
    name: `check ${region}`,
    async stop() {
      clearInterval(touching);
      await work.stop();
      await close();
    },
  };
}

/** Starts the service's own checks (domain, dns, vendor). Every check process takes part in them, whatever its region. */
export function startServiceCheck(runtime: Runtime, options: { allowPrivateNetwork: boolean }): RunningProcess {
  const { probe, close } = openServiceProbe(options);
  const work = workOnChecks({ ...runtime, log: runtime.log.child({ region: SERVICE_REGION }) }, { region: SERVICE_REGION, probe });
  return {
    name: 'service checks',
    async stop() {
      await work.stop();
      await close();
    },
  };
}
