import type { Span } from './blindness.ts';
import type { ChaosChannel } from './channels.ts';
import type { SufferedFault } from './inject.ts';
import type { ChatReceived, Received } from './receiver.ts';
import type { WrittenRecord } from './record.ts';
import type { MonitorScript } from './script.ts';
import type { TargetRequest } from './targets.ts';

/** The resolution of clocks, in milliseconds. */
export const CLOCK_RESOLUTION_MS = 50;

/**
 * Everything that is known of a run: the script, the faults, what was stored, and what arrived outside. Times are Unix
 * milliseconds.
 */
export type Facts = {
  beganAtMs: number;
  /** When the last data were read; everything had its time until then. */
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
  /** The channels beside the first, and when their quiet hours end. */
  channels: readonly ChaosChannel[];
  quietUntilMs: number;
  record: WrittenRecord;
  /** Deliveries that are not finished when the run is judged. */
  pendingDeliveries: number;
  /** Processes that ended by themselves. */
  ended: readonly string[];
  /** Responses of the API that no client should get, and confirmed monitors that are missing. */
  faultyAnswers: readonly string[];
  lostMonitors: readonly string[];
  /** How long the machine was too slow for any client, in milliseconds. */
  machineSlowMs: number;
};
