import type { Span } from './blindness.ts';
import type { SufferedFault } from './inject.ts';
import type { Received } from './receiver.ts';
import type { WrittenRecord } from './record.ts';
import type { MonitorScript } from './script.ts';
import type { TargetRequest } from './targets.ts';

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
