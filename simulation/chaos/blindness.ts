import type { Fault } from './faults.ts';
import type { SufferedFault } from './inject.ts';

/** A stretch of time, Unix milliseconds. */
export type Span = { fromMs: number; toMs: number };

/** Longest time that a killed worker can block a slot: job locks expire after 15 s, and expiry is polled every 5 s. */
const LOCK_MS = 20_000;

/** An interval, and the start of a process on a busy machine. */
const AT_WORK_MS = 5000;

/**
 * Recovery time of connections: 5 s per command, 2 s between the evaluator's attempts, up to 2 s between connections,
 * and an interval.
 */
const RECONNECTED_MS = 15_000;

/**
 * Time until reconcile has repaired a schedule: it runs every 10 s, and the schedules that it adds fire an interval
 * later.
 */
const RECONCILED_MS = 25_000;

/** Time until a replica is master: 3 s until a killed node is missed, and 2 s for the election. */
const PROMOTED_MS = 8000;

/** Time that a result is in flight: up to 3 s to the queue, and a second or two until it is read. */
const IN_FLIGHT_MS = 6000;

/** Time until work in hand fails after everything was lost, in milliseconds. */
const IN_HAND_MS = 3000;

/**
 * Returns the times at which the service could not check targets, or not report the results. A component between a
 * target and its stored state was away or recovering then; only the end of such a time is certain. Processes that are
 * not on that path (web, deliver, a clock, the receiver) do not count.
 */
export function blindSpans(suffered: readonly SufferedFault[]): Span[] {
  return mergeSpans([
    ...suffered.flatMap(blindedBy),
    ...suffered.filter(({ fault }) => emptiesRedis(fault)).map((loss) => untilReconciled(loss, suffered)),
  ]);
}

/** Returns the faults that can blind a monitor in these regions; another region's check process is not on its path. */
export function faultsOnTheWay(suffered: readonly SufferedFault[], regions: readonly string[]): SufferedFault[] {
  return suffered.filter(({ fault }) => {
    const region = regionOf(fault);
    return region === undefined || regions.includes(region);
  });
}

/** Returns the region of the check process that a fault hits; undefined for other faults. */
function regionOf(fault: Fault): string | undefined {
  const befallen =
    fault.kind === 'kill' ? fault.process : fault.kind === 'slow-link' || fault.kind === 'lossy-link' ? fault.link : '';
  return /^check-([^>]+)/.exec(befallen)?.[1];
}

function blindedBy({ fault, fromMs, toMs }: SufferedFault): Span[] {
  switch (fault.kind) {
    case 'kill':
      if (fault.process.startsWith('check'))
        return [{ fromMs, toMs: Math.max(toMs + AT_WORK_MS, fromMs + LOCK_MS + AT_WORK_MS) }];
      return fault.process.startsWith('evaluate') ? [{ fromMs, toMs: toMs + AT_WORK_MS }] : [];
    case 'postgres-stop':
    case 'postgres-freeze':
    case 'disk':
    case 'redis-freeze':
    case 'redis-restart':
    case 'redis-flush':
    case 'redis-promote':
    case 'redis-slot':
      return [{ fromMs, toMs: toMs + RECONNECTED_MS }];
    case 'redis-node-kill':
      return [{ fromMs, toMs: Math.max(toMs, fromMs + PROMOTED_MS) + RECONNECTED_MS }];
    case 'slow-link':
    case 'lossy-link':
      return /^(check|evaluate)/.test(fault.link) ? [{ fromMs, toMs: toMs + RECONNECTED_MS }] : [];
    // A clock step excuses nothing.
    case 'clock':
    case 'second-clock':
    case 'receiver':
      return [];
    default:
      return fault satisfies never;
  }
}

/**
 * Reports whether a fault can empty Redis. In a Cluster a node that returns before it is missed is empty, and a
 * promoted replica may lack the latest data.
 */
function emptiesRedis({ kind }: Fault): boolean {
  return kind === 'redis-restart' || kind === 'redis-flush' || kind === 'redis-node-kill' || kind === 'redis-promote';
}

/**
 * Returns the time until schedules are repaired: reconcile does it, and faults of the processes involved delay it in
 * turn.
 */
function untilReconciled({ fromMs, toMs }: SufferedFault, suffered: readonly SufferedFault[]): Span {
  const hindrances = suffered.filter(({ fault }) => isOfReconcile(fault)).toSorted((a, b) => a.fromMs - b.fromMs);
  let endMs = toMs + RECONCILED_MS;
  for (const hindrance of hindrances) {
    if (hindrance.fromMs < endMs && hindrance.toMs > fromMs) endMs = Math.max(endMs, hindrance.toMs + RECONCILED_MS);
  }
  return { fromMs, toMs: endMs };
}

function isOfReconcile(fault: Fault): boolean {
  if (fault.kind === 'kill') return fault.process === 'maintain' || fault.process === 'clock';
  if (fault.kind === 'slow-link' || fault.kind === 'lossy-link') return /^(maintain|clock)/.test(fault.link);
  return fault.kind === 'disk' || fault.kind.startsWith('postgres') || fault.kind.startsWith('redis');
}

/**
 * Returns the times whose results may be lost: in the hands of a killed check process, or in an emptied Redis. These
 * are the last seconds or, if nothing could be passed on or read then, all the time since the blindness began. Results
 * that a killed evaluator had in hand are in Redis alone until its locks have expired.
 */
export function lossySpans(suffered: readonly SufferedFault[]): Span[] {
  const blind = blindSpans(suffered);
  const losses = suffered.filter(
    ({ fault }) => emptiesRedis(fault) || (fault.kind === 'kill' && fault.process.startsWith('check')),
  );
  return mergeSpans(
    losses.flatMap(({ fault, fromMs }) => {
      const before = blind.find((span) => span.fromMs < fromMs && span.toMs >= fromMs - IN_FLIGHT_MS);
      const last = { fromMs: Math.min(fromMs, before?.fromMs ?? fromMs) - IN_FLIGHT_MS, toMs: fromMs + IN_HAND_MS };
      return [last, ...(emptiesRedis(fault) ? heldByKilled(suffered, fromMs) : [])];
    }),
  );
}

/**
 * Returns the times whose results were held by evaluators killed so shortly before a moment that no other had taken
 * over.
 */
function heldByKilled(suffered: readonly SufferedFault[], atMs: number): Span[] {
  return suffered
    .filter(({ fault }) => fault.kind === 'kill' && fault.process.startsWith('evaluate'))
    .filter(({ fromMs }) => fromMs < atMs && fromMs > atMs - LOCK_MS - IN_HAND_MS)
    .map(({ fromMs }) => ({ fromMs: fromMs - IN_FLIGHT_MS, toMs: fromMs }));
}

/** Sorts spans, and merges those that touch. */
function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const { fromMs, toMs } of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last !== undefined && fromMs <= last.toMs)
      merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) };
    else merged.push({ fromMs, toMs });
  }
  return merged;
}

/** Returns the gaps between merged spans within a span. */
export function gapsBetween(merged: readonly Span[], within: Span): Span[] {
  const edges = [within.fromMs, ...merged.flatMap(({ fromMs, toMs }) => [fromMs, toMs]), within.toMs].map((ms) =>
    Math.min(Math.max(ms, within.fromMs), within.toMs),
  );
  return edges.flatMap((fromMs, index) => {
    const toMs = edges[index + 1] ?? fromMs;
    return index % 2 === 0 && toMs > fromMs ? [{ fromMs, toMs }] : [];
  });
}
