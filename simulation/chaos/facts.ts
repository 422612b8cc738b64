import type { Span } from './blindness.ts';
import type { ChaosChannel } from './channels.ts';
import type { SufferedFault } from './inject.ts';
import type { ChatReceived, Received } from './receiver.ts';
import type { WrittenRecord } from './record.ts';
import type { MonitorScript } from './script.ts';
import type { TargetRequest } from './targets.ts';

/** Resolution of clocks, in milliseconds. */
export const CLOCK_RESOLUTION_MS = 50;

/**
 * All facts of a run: the script, the faults, the stored data, and the messages that arrived outside. Times are Unix
 * milliseconds.
 */
export type Facts = {
  beganAtMs: number;
  /** When the last data were read, after the time limits of everything else. */
  judgedAtMs: number;
  scripts: readonly MonitorScript[];
  /** The monitors' ids, in the order of their scripts. */
  monitorIds: readonly string[];
  suffered: readonly SufferedFault[];
  /** A quiet time after all faults, in which every check has to be on time. */
  quiet: Span;
  requests: readonly TargetRequest[];
  received: readonly Received[];
  chats: readonly (ChatReceived & { channel: string })[];
  /** The channels other than the first, and when their quiet hours end. */
  channels: readonly ChaosChannel[];
  quietUntilMs: number;
  record: WrittenRecord;
  /** Deliveries that are not finished when the run is judged. */
  pendingDeliveries: number;
  /** Processes that exited by themselves. */
  ended: readonly string[];
  /** Responses of the API that no client should get, and confirmed monitors that are missing. */
  faultyAnswers: readonly string[];
  lostMonitors: readonly string[];
  /** How long the machine was too slow for any client, in milliseconds. */
  machineSlowMs: number;
};
