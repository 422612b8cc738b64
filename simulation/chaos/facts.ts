import type { Span } from './blindness.ts';
import type { SufferedFault } from './inject.ts';
import type { Received } from './receiver.ts';
import type { WrittenRecord } from './record.ts';
import type { MonitorScript } from './script.ts';
import type { TargetRequest } from './targets.ts';

/**
 * All that is known of a run: what was to happen, what befell the fleet, what it wrote down, and what arrived outside.
 * Times are Unix milliseconds.
 */
export type Facts = {
  beganAtMs: number;
  /** When the last word was read: everything had been given its time until then. */
  judgedAtMs: number;
  scripts: readonly MonitorScript[];
  /** The monitors' ids, in the order of their scripts. */
  monitorIds: readonly string[];
  suffered: readonly SufferedFault[];
  /** A stretch after everything is over, in which each check has to be made when it is due. */
  quiet: Span;
  requests: readonly TargetRequest[];
  received: readonly Received[];
  record: WrittenRecord;
  /** Deliveries that are not finished when the run is judged. */
  pendingDeliveries: number;
  /** Processes that ended by themselves. */
  ended: readonly string[];
  /** Answers of the API that no client should get, and monitors whose creation was confirmed and that are not there. */
  faultyAnswers: readonly string[];
  lostMonitors: readonly string[];
  /** How long the machine was too slow for any client, in milliseconds. */
  machineSlowMs: number;
};
