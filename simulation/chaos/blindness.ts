import type { Fault } from './faults.ts';
import type { SufferedFault } from './inject.ts';

/** A stretch of time, Unix milliseconds. */
export type Span = { fromMs: number; toMs: number };

/**
 * Locks of a killed worker's jobs run out after 15 s and are looked for every 5 s; a slot whose next tick was not in
 * the queue yet stands still so long.
 */
const LOCK_MS = 20_000;

/** An interval, and a process that has just started on a busy machine. */
const AT_WORK_MS = 5000;

/**
 * Connections are given up, opened anew and their work is tried again: 5 s for a command, 2 s between the evaluator's
 * attempts, up to 2 s between connections, an interval.
 */
const RECONNECTED_MS = 15_000;

/** Reconcile comes every 10 s and may just have looked; what it adds fires an interval later. */
const RECONCILED_MS = 25_000;

/**
 * A killed node is missed after 3 s, and its replica elected within 2; a node that was back earlier is waited for as
 * long.
 */
const PROMOTED_MS = 8000;

/** What is measured goes to the evaluator's queue within 3 s, and is read there within a second or two. */
const IN_FLIGHT_MS = 6000;

/** What was in hand when everything was lost, and fails a moment later, in milliseconds. */
const IN_HAND_MS = 3000;

/**
 * When we could not see, or not say what we saw: while something between a target and its stored state was away, and
 * until it was at work again. Of what happens then only its end is known. Who is not on that way (web, deliver, a
 * clock, the receiver) takes nothing from sight.
 */
export function blindSpans(suffered: readonly SufferedFault[]): Span[] {
  return mergeSpans([
    ...suffered.flatMap(blindedBy),
    ...suffered.filter(({ fault }) => emptiesRedis(fault)).map((loss) => untilReconciled(loss, suffered)),
  ]);
}

/**
 * Those faults that can take from the sight of a monitor that is watched from these regions: another region's check
 * process is not on its way.
 */
export function faultsOnTheWay(suffered: readonly SufferedFault[], regions: readonly string[]): SufferedFault[] {
  return suffered.filter(({ fault }) => {
    const region = regionOf(fault);
    return region === undefined || regions.includes(region);
  });
}

/** The region whose check process a fault befalls; undefined where it befalls something else. */
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
    // A clock that is set is no excuse for anything.
    case 'clock':
    case 'second-clock':
    case 'receiver':
      return [];
    default:
      return fault satisfies never;
  }
}

/**
 * Of a Cluster a part: a node that comes back before it is missed is empty, and a replica that was promoted may lack
 * the latest.
 */
function emptiesRedis({ kind }: Fault): boolean {
  return kind === 'redis-restart' || kind === 'redis-flush' || kind === 'redis-node-kill' || kind === 'redis-promote';
}

/** Schedules come back by reconcile, which whoever would enqueue or do it may hold up in turn. */
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
 * When what was measured may be lost: what a killed check process had in hand, and what an emptied Redis held. That is
 * the last seconds, and where nothing could be handed on or read at that time, because we were blind already, all since
 * then.
 */
export function lossySpans(suffered: readonly SufferedFault[]): Span[] {
  const blind = blindSpans(suffered);
  const losses = suffered.filter(
    ({ fault }) => emptiesRedis(fault) || (fault.kind === 'kill' && fault.process.startsWith('check')),
  );
  return mergeSpans(
    losses.map(({ fromMs }) => {
      const before = blind.find((span) => span.fromMs < fromMs && span.toMs >= fromMs - IN_FLIGHT_MS);
      return { fromMs: Math.min(fromMs, before?.fromMs ?? fromMs) - IN_FLIGHT_MS, toMs: fromMs + IN_HAND_MS };
    }),
  );
}

/** Spans in their order, those that touch as one. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const { fromMs, toMs } of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last !== undefined && fromMs <= last.toMs)
      merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) };
    else merged.push({ fromMs, toMs });
  }
  return merged;
}

/** What of a span merged others leave free. */
export function gapsBetween(merged: readonly Span[], within: Span): Span[] {
  const edges = [within.fromMs, ...merged.flatMap(({ fromMs, toMs }) => [fromMs, toMs]), within.toMs].map((ms) =>
    Math.min(Math.max(ms, within.fromMs), within.toMs),
  );
  return edges.flatMap((fromMs, index) => {
    const toMs = edges[index + 1] ?? fromMs;
    return index % 2 === 0 && toMs > fromMs ? [{ fromMs, toMs }] : [];
  });
}
