/**
 * What of the service stood still. The clock, the checks or the evaluation; or that there were more checks than our
 * locations could run (`overload`), which counts for the monitors that were not checked alone.
 */
export const GAP_KINDS = ['clock', 'checks', 'evaluation', 'overload'] as const;
export type GapKind = (typeof GAP_KINDS)[number];

/** A stretch of time in Unix milliseconds, the end excluded. */
export type Stretch = { startMs: number; endMs: number };

/** A stretch in which we stood still. */
export type ServiceGap = Stretch & { kind: GapKind };

/** Kinds that go on while the watch itself is awake. */
export type OngoingKind = Exclude<GapKind, 'clock' | 'overload'>;

/** Standing still for longer than this is a gap, in milliseconds: a restart or a deploy is shorter. */
export const MAX_STANDSTILL_MS = 60_000;

/** What was known of the service's doings after the poll before. Moments are Unix milliseconds, null = never. */
export type WatchedService = {
  /** The newest poll, and the first of those that came without a gap until it. */
  sweptAtMs: number | null;
  resumedAtMs: number | null;
  /** When a check, and a batch of results, was last completed; up to ten seconds older than the truth. */
  checkedAtMs: number | null;
  evaluatedAtMs: number | null;
  /** Since when checks at most this far apart have been due; null while none are. */
  due: Due | null;
  /** When the open gap of each kind began; null: none is open. */
  gapOpenSinceMs: Readonly<Record<OngoingKind, number | null>>;
};

export type Due = { sinceMs: number; intervalSeconds: number };

/**
 * What a poll sees. `shortestIntervalSeconds` null: no check is due at all. `oldestResultsAtMs` null: none wait;
 * undefined: the queue could not be asked.
 */
export type ServicePoll = {
  nowMs: number;
  shortestIntervalSeconds: number | null;
  oldestResultsAtMs: number | null | undefined;
};

/**
 * What follows from a poll: since when we have been watching without a gap, what is due, and the gaps that ended and
 * began.
 */
export type WatchStep = {
  watchingSinceMs: number;
  due: Due | null;
  ended: ServiceGap[];
  begun: { kind: OngoingKind; startMs: number }[];
};

/**
 * One poll of our own doings, every ten seconds (docs/accounting.md, Service gaps). Polls too
 * far apart are a gap of the clock, which ends whatever else was open: it covers everything from there on. The others
 * are measured from the newest of what was completed, the end of the clock's gap, and since when checks are due. A
 * time that goes backwards is no gap.
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
    if (openSinceMs !== null && endMs === null) continue;
    if (openSinceMs !== null && endMs !== null)
      step.ended.push({ kind, startMs: openSinceMs, endMs: Math.max(openSinceMs, endMs) });
    const startMs = startsMs[kind];
    if (startMs !== null) step.begun.push({ kind, startMs });
  }
  if (stoodStill) step.ended.push({ kind: 'clock', startMs: sweptAtMs, endMs: nowMs });
  return step;
}

/** A shorter interval than before has been due from now on only; longer ones have been for as long as the shorter. */
function stepDue(due: Due | null, { nowMs, shortestIntervalSeconds }: ServicePoll): Due | null {
  if (shortestIntervalSeconds === null) return null;
  const isNew = due === null || shortestIntervalSeconds < due.intervalSeconds;
  return { sinceMs: isNew ? nowMs : due.sinceMs, intervalSeconds: shortestIntervalSeconds };
}

type PollSince = ServicePoll & { watchingSinceMs: number };

/** Of several sources only the slowest may be left: two of the shortest intervals must pass besides. */
function checksStoodSince({ checkedAtMs, due }: WatchedService, { nowMs, watchingSinceMs }: PollSince): number | null {
  if (due === null) return null;
  const sinceMs = Math.max(checkedAtMs ?? 0, due.sinceMs, watchingSinceMs);
  return nowMs - sinceMs > MAX_STANDSTILL_MS + 2000 * due.intervalSeconds ? sinceMs : null;
}

/** Slow is not still: whatever batch was decided since begins the stretch anew. */
function evaluationStoodSince(
  { evaluatedAtMs }: WatchedService,
  { nowMs, watchingSinceMs, oldestResultsAtMs }: PollSince,
): number | null {
  if (oldestResultsAtMs === null || oldestResultsAtMs === undefined) return null;
  const sinceMs = Math.max(evaluatedAtMs ?? 0, oldestResultsAtMs, watchingSinceMs);
  return nowMs - sinceMs > MAX_STANDSTILL_MS ? sinceMs : null;
}

/** Null while it lasts, or none is open. */
function checksEndedAt(
  { checkedAtMs, gapOpenSinceMs }: WatchedService,
  { nowMs, shortestIntervalSeconds }: ServicePoll,
): number | null {
  if (checkedAtMs !== null && checkedAtMs > (gapOpenSinceMs.checks ?? nowMs)) return Math.min(checkedAtMs, nowMs);
  return shortestIntervalSeconds === null ? nowMs : null;
}

/**
 * Null while it lasts, or none is open. What waited may be gone without having been decided: then nothing waits any
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
