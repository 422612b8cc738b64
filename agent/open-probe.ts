import type { AgentCapability } from '../core/agents/capability.ts';
import type { EchoNotice } from '../probes/icmp.ts';
import { openAgentProbe, type Probe } from '../probes/probe.ts';

/** The probe of this machine, and what it can measure. */
export type MachineProbe = { probe: Probe; capabilities: AgentCapability[]; close: () => Promise<void> };

/**
 * Opens the probe and finds out what it can do here: echo requests are not granted to every program, everything else
 * is.
 */
export async function openMachineProbe({
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

/** IPv4 and IPv6. */
const FAMILIES = 2;
