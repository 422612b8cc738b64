import { join } from 'node:path';
import type { Logger } from 'pino';
import { lockExclusively } from '../config/exclusive-lock.ts';
import type { HostPort } from '../net/host-address.ts';
import type { EchoNotice } from '../probes/icmp.ts';
import { openAgentProbe } from '../probes/probe.ts';
import { SelfCheck } from '../probes/self-check.ts';
import { Agent, type AgentParts, type MachineProbe } from './agent.ts';
import { Journal } from './journal.ts';
import { openServiceClient } from './service-client.ts';
import { createWorkFile, loadKeyPair } from './work.ts';

/** Takes the lock of a folder for this process and returns its release. Throws while another agent uses the folder. */
async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const refusal = (pid: number) =>
    new Error(
      `Another agent with this token is running here (process ${pid}): stop it first, or give this one its own ` +
        'token',
    );
  return await lockExclusively(join(folder, 'lock.json'), refusal);
}

type AgentOptions = {
  serviceUrl: string;
  agentToken: string;
  /** The agent's own; it exists. */
  folder: string;
  allowPrivateNetwork: boolean;
  /** Empty if there is no self-check (D-48). */
  selfCheckHosts: readonly HostPort[];
  settings: AgentParts['settings'];
  log: Logger;
};

/** A running agent. */
type RunningAgent = {
  /** Resolves when the service refuses the token before it has ever accepted it. */
  refused: Promise<void>;
  /** Ends everything in order, within bounded time. */
  stop: () => Promise<void>;
};

/** Starts the agent on its folder. Throws if another one uses it. */
export async function startAgent({
  serviceUrl,
  agentToken,
  folder,
  allowPrivateNetwork,
  selfCheckHosts,
  settings,
  log,
}: AgentOptions): Promise<RunningAgent> {
  const release = await lockFolder(folder);
  const keys = await loadKeyPair(folder);
  const machine = await openMachineProbe({
    allowPrivateNetwork,
    onEchoNotice({ family, means, reason }) {
      if (means === null) log.warn({ family, reason }, 'icmp.unavailable');
      else log.debug({ family, means, reason }, 'icmp.available');
    },
  });
  const { journal, waiting, torn } = await Journal.open({
    folder,
    now: Date.now,
    onDisk(error) {
      if (error === null) log.info({}, 'buffer.on_disk');
      else log.error({ err: error }, 'buffer.in_memory');
    },
  });
  if (waiting.length + torn > 0) log.info({ results: waiting.length, torn }, 'buffer.found');
  const workFile = createWorkFile(folder, Date.now);
  const saved = await workFile.load();
  const client = openServiceClient({ serviceUrl, token: agentToken, version: settings.version, now: Date.now });
  const agent = new Agent({
    keys,
    workFile,
    saved,
    journal,
    waiting,
    machine,
    selfCheck: selfCheckOf(selfCheckHosts, log),
    client,
    log,
    settings,
  });
  await agent.start();
  return {
    refused: agent.refused,
    async stop() {
      await agent.stop();
      client.close();
      await machine.close();
      await release();
    },
  };
}

function selfCheckOf(hosts: readonly HostPort[], log: Logger): SelfCheck | null {
  if (hosts.length === 0) return null;
  return new SelfCheck({
    hosts,
    now: Date.now,
    onChange(reachesAny) {
      if (reachesAny) log.info({}, 'self_check.passed');
      else log.warn({}, 'self_check.failed');
    },
  });
}

/** IPv4 and IPv6. */
const FAMILIES = 2;

/**
 * Opens the probe and determines its capabilities here: echo requests are not permitted to every program, everything
 * else is.
 */
async function openMachineProbe({
  allowPrivateNetwork,
  onEchoNotice,
}: {
  allowPrivateNetwork: boolean;
  onEchoNotice: (notice: EchoNotice) => void;
}): Promise<MachineProbe> {
  const notices: EchoNotice[] = [];
  const bothReceived = Promise.withResolvers<void>();
  const { probe, close } = openAgentProbe({
    allowPrivateNetwork,
    onEchoNotice(notice) {
      onEchoNotice(notice);
      notices.push(notice);
      if (notices.length === FAMILIES) bothReceived.resolve();
    },
  });
  await bothReceived.promise;
  const hasEcho = notices.some(({ means }) => means !== null);
  return {
    probe,
    capabilities: hasEcho ? ['http', 'cert', 'tcp', 'icmp', 'udp'] : ['http', 'cert', 'tcp', 'udp'],
    close,
  };
}
