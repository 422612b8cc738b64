/**
 * Kinds of gaps. The clock, the checks or the evaluation stood still; or locations had more checks than they could run
 * (`overload`), which counts only for the monitors not checked.
 */
export const GAP_KINDS = ['clock', 'checks', 'evaluation', 'overload'] as const;
export type GapKind = (typeof GAP_KINDS)[number];

/** A stretch of time in Unix milliseconds, excluding the end. */
export type Stretch = { startMs: number; endMs: number };

/** A stretch in which the service stood still. */
export type ServiceGap = Stretch & { kind: GapKind };

/** Kinds whose gaps last while the watch itself runs. */
type OngoingKind = Exclude<GapKind, 'clock' | 'overload'>;

/** Standstill beyond which there is a gap, in milliseconds: a restart or a deploy is shorter. */
export const MAX_STANDSTILL_MS = 60_000;

/** Stored state of the service after the last poll. Moments are Unix milliseconds, null = never. */
export type WatchedService = {
  /** The newest poll, and the first one of the series without a gap up to it. */
  sweptAtMs: number | null;
  resumedAtMs: number | null;
  /** When a check, and a batch of results, was last completed; up to ten seconds too old. */
  checkedAtMs: number | null;
  evaluatedAtMs: number | null;
  /** Since when checks at most this far apart have been due; null while none are. */
  due: Due | null;
  /** When the open gap of each kind began; null: none is open. */
  gapOpenSinceMs: Readonly<Record<OngoingKind, number | null>>;
};

export type Due = { sinceMs: number; intervalSeconds: number };

/**
 * Data of a poll. `shortestIntervalSeconds` null: no check is due at all. `oldestResultsAtMs` null: none wait;
 * undefined: the queue could not be queried.
 */
export type ServicePoll = {
  nowMs: number;
  shortestIntervalSeconds: number | null;
  oldestResultsAtMs: number | null | undefined;
};

/** Result of a poll: since when there has been no gap, the due checks, and the gaps that ended and began. */
export type WatchStep = {
  watchingSinceMs: number;
  due: Due | null;
  ended: ServiceGap[];
  begun: { kind: OngoingKind; startMs: number }[];
};

/**
 * Evaluates one poll of the service itself, every ten seconds (docs/accounting.md, Service gaps). Polls too far apart
 * are a gap of the clock, which ends all other open gaps: it covers everything from there on. The others are measured
 * from the newest completed work, the end of the clock's gap, and since when checks are due. Time that goes backwards
 * is no gap.
 */
export function stepWatch(before: WatchedService, poll: ServicePoll): WatchStep {
  const { nowMs } = poll;
  const { sweptAtMs } = before;
  const stoodStill = sweptAtMs !== null && nowMs - sweptAtMs > MAX_STANDSTILL_MS;
  const watchingSinceMs = stoodStill ? nowMs : (before.resumedAtMs ?? nowMs);
  const due = stepDue(before.due, poll);
  const step: WatchStep = { watchingSinceMs, due, ended: [], begun: [] };
  const startsMs = {
    checks: checksStoodSince({ ...before, due }, { ...poll, watchingSinceMs }),
    evaluation: evaluationStoodSince(before, { ...poll, watchingSinceMs }),
  };
  const endsMs = { checks: checksEndedAt(before, poll), evaluation: evaluationEndedAt(before, poll) };
  for (const kind of ['checks', 'evaluation'] as const) {
    const openSinceMs = before.gapOpenSinceMs[kind];
    const endMs = stoodStill ? sweptAtMs : endsMs[kind];
    if (openSinceMs !== null) {
      if (endMs === null) continue;
      step.ended.push({ kind, startMs: openSinceMs, endMs: Math.max(openSinceMs, endMs) });
    }
    const startMs = startsMs[kind];
    if (startMs !== null) step.begun.push({ kind, startMs });
  }
  if (stoodStill) step.ended.push({ kind: 'clock', startMs: sweptAtMs, endMs: nowMs });
  return step;
}

/** A shorter interval than before is due only from now on; longer ones have been due as long as the shorter. */
function stepDue(due: Due | null, { nowMs, shortestIntervalSeconds }: ServicePoll): Due | null {
  if (shortestIntervalSeconds === null) return null;
  const isNew = due === null || shortestIntervalSeconds < due.intervalSeconds;
  return { sinceMs: isNew ? nowMs : due.sinceMs, intervalSeconds: shortestIntervalSeconds };
}

type PollSince = ServicePoll & { watchingSinceMs: number };

/** Only the slowest of several sources may be left: two of the shortest intervals must pass in addition. */
function checksStoodSince({ checkedAtMs, due }: WatchedService, { nowMs, watchingSinceMs }: PollSince): number | null {
  if (due === null) return null;
  const sinceMs = Math.max(checkedAtMs ?? 0, due.sinceMs, watchingSinceMs);
  return nowMs - sinceMs > MAX_STANDSTILL_MS + 2000 * due.intervalSeconds ? sinceMs : null;
}

/** Slow evaluation is no standstill: each batch that was decided since restarts the stretch. */
function evaluationStoodSince(
  { evaluatedAtMs }: WatchedService,
  { nowMs, watchingSinceMs, oldestResultsAtMs }: PollSince,
): number | null {
  if (oldestResultsAtMs === null || oldestResultsAtMs === undefined) return null;
  const sinceMs = Math.max(evaluatedAtMs ?? 0, oldestResultsAtMs, watchingSinceMs);
  return nowMs - sinceMs > MAX_STANDSTILL_MS ? sinceMs : null;
}

/** Returns null while the gap lasts, or if none is open. */
function checksEndedAt(
  { checkedAtMs, gapOpenSinceMs }: WatchedService,
  { nowMs, shortestIntervalSeconds }: ServicePoll,
): number | null {
  if (checkedAtMs !== null && checkedAtMs > (gapOpenSinceMs.checks ?? nowMs)) return Math.min(checkedAtMs, nowMs);
  return shortestIntervalSeconds === null ? nowMs : null;
}

/**
 * Returns null while the gap lasts, or if none is open. Waiting results may disappear undecided: then none wait any
 * more.
 */
function evaluationEndedAt(
  { evaluatedAtMs, gapOpenSinceMs }: WatchedService,
  { nowMs, oldestResultsAtMs }: ServicePoll,
): number | null {
  if (evaluatedAtMs !== null && evaluatedAtMs > (gapOpenSinceMs.evaluation ?? nowMs))
    return Math.min(evaluatedAtMs, nowMs);
  return oldestResultsAtMs === null ? nowMs : null;
}
