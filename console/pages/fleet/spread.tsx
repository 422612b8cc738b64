import type { Schemas } from '../../client/api.ts';
import { formatLatency } from '../../parts/time.tsx';

type Spread = Schemas['Spread'] | null;

/** What is worth an alarm at the 99th percentile, in milliseconds (docs/operations.md). */
const ALLOWED_MS = { lateness: 1000, lag: 15_000 } as const;
export type SpreadKind = keyof typeof ALLOWED_MS;

/** Whether something takes longer than it is to. */
export function isLate(spread: Spread, kind: SpreadKind): boolean {
  return spread !== null && spread.p99_ms > ALLOWED_MS[kind];
}

/** Two figures of what happened lately; a dash where nothing did. */
export function SpreadCell({ spread, kind }: { spread: Spread; kind: SpreadKind }) {
  if (spread === null) return <span class="text-soft">–</span>;
  return (
    <span title={`${spread.count.toLocaleString()} lately`} class={isLate(spread, kind) ? 'font-medium text-down' : ''}>
      {formatLatency(spread.p50_ms)} · {formatLatency(spread.p99_ms)}
    </span>
  );
}
