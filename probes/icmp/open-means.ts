import type { EchoMeans, EchoMeansKind } from './echo-means.ts';
import type { Family } from './echo-packet.ts';
import { EchoSocket } from './echo-socket.ts';
import { openKernelSocket } from './kernel-socket.ts';
import { openPingProgram } from './ping-program.ts';
import { measureOverSocket } from './socket-round.ts';

/**
 * With what echo requests of a family will be sent, told once; null: with nothing, so that its checks are no vote.
 * `reason` says why it is not a socket, for operators; null where it is.
 */
export type EchoNotice = { family: Family; means: EchoMeansKind | null; reason: string | null };

/**
 * Chooses how echo requests of a family are sent, once: over an ICMP socket, else by the system's ping program; null
 * where neither can.
 */
export async function openEchoMeans(family: Family, onNotice: (notice: EchoNotice) => void): Promise<EchoMeans | null> {
  const opened = await openKernelSocket(family);
  if (opened.kind !== null) {
    const socket = new EchoSocket(opened.socket, family);
    onNotice({ family, means: opened.kind, reason: null });
    return { kind: opened.kind, measure: (round) => measureOverSocket(socket, round), close: () => socket.close() };
  }
  const program = await openPingProgram(family);
  onNotice({ family, means: program?.kind ?? null, reason: opened.reason });
  return program;
}
