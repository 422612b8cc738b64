import type { Schemas } from '../client/shapes.ts';
import { count } from '../parts/figures.ts';
import { formatDateTime, formatDuration } from '../parts/time.tsx';
import type { Span } from './series.ts';

/** What a stretch of the band says. */
export type BandState = 'up' | 'none' | 'degraded' | 'down';
/** Stretches in the order in which they are painted: what comes later covers. */
export type BandPart = Span & { state: BandState; note?: string };

const STYLES: Record<BandState, string> = {
  up: 'bg-up-fill inset-y-[3px]',
  none: 'bg-nothing inset-y-[3px] min-w-px',
  degraded: 'bg-degraded-fill inset-y-[1.5px] min-w-[3px]',
  down: 'bg-down-fill inset-y-0 min-w-[3px]',
};
const WORDS: Record<BandState, string> = { up: 'Up', none: 'Nothing known', degraded: 'Degraded', down: 'Down' };

/**
 * How a monitor was, second by second, over a stretch of time; what is bad is higher, so that it is seen without
 * colours as well, and never thinner than a line.
 */
export function StatusBand({ parts, span, label }: { parts: readonly BandPart[]; span: Span; label: string }) {
  const length = span.to - span.from;
  return (
    <div class="relative h-5 w-full overflow-hidden rounded-sm" role="img" aria-label={label}>
      {parts.map((part) => {
        const from = Math.max(span.from, part.from);
        const to = Math.min(span.to, part.to);
        if (to <= from && part.from < span.from) return null;
        const extent = {
          left: `min(calc(100% - 3px), ${((from - span.from) / length) * 100}%)`,
          width: `${(Math.max(0, to - from) / length) * 100}%`,
        };
        return (
          <span
            key={`${part.state}${part.from}`}
            class={`absolute ${STYLES[part.state]}`}
            style={extent}
            title={titleOf(part)}
          />
        );
      })}
    </div>
  );
}

function titleOf({ state, from, to, note }: BandPart): string {
  return (
    `${WORDS[state]} for ${formatDuration(to - from)}, from ` +
    `${formatDateTime(from)}${note === undefined ? '' : `: ${note}`}`
  );
}

type Incident = Schemas['Incident'];
type Step = Pick<Schemas['StatsPoint'], 'at' | 'uptime_percent'>;

type BandInput = {
  steps: readonly Step[];
  /** When the service itself stood still. */
  gaps: readonly Span[];
  incidents: readonly Incident[];
  span: Span;
  /** Incidents before it are not among them: there steps say for how much of them the monitor was down. */
  knownFrom: number;
};

/** Of a window: where something is known, by the steps of its series, and the incidents to the second over it. */
export function bandParts({ steps, gaps, incidents, span, knownFrom }: BandInput): BandPart[] {
  const parts: BandPart[] = [];
  steps.forEach(({ at, uptime_percent: uptime }, index) => {
    const to = Math.min(span.to, steps[index + 1]?.at ?? span.to);
    const state = uptime === null ? 'none' : 'up';
    const last = parts.at(-1);
    if (last?.state === state) last.to = to;
    else parts.push({ state, from: at, to });
  });
  const old = steps.flatMap(({ at, uptime_percent: uptime }, index): BandPart[] => {
    const to = Math.min(span.to, steps[index + 1]?.at ?? span.to);
    return uptime !== null && uptime < 100 && to <= knownFrom
      ? [{ state: 'down', from: at, to: at + Math.round((to - at) * (1 - uptime / 100)) }]
      : [];
  });
  const exact = incidents
    .map(({ state, reason, started_at: from, resolved_at: to }): BandPart => ({
      state,
      from,
      to: to ?? span.to,
      note: reason,
    }))
    .filter(({ from, to }) => to >= span.from && from <= span.to)
    // What is down lies above what is degraded.
    .toSorted((a, b) => Number(a.state === 'down') - Number(b.state === 'down'));
  const still = gaps.map(({ from, to }): BandPart => ({ state: 'none', from, to, note: 'we stood still ourselves' }));
  return [...parts, ...still, ...old, ...exact];
}

/** The band in a sentence. */
export function describeBand(incidents: readonly Incident[], { from, to }: Span, words: string): string {
  const within = incidents.filter(({ started_at: start, resolved_at: end }) => (end ?? to) >= from && start <= to);
  if (within.length === 0) return `Status in ${words}: no incident`;
  const seconds = within.reduce(
    (sum, { started_at: start, resolved_at: end }) =>
      sum + Math.max(0, Math.min(end ?? to, to) - Math.max(start, from)),
    0,
  );
  return `Status in ${words}: ${count(within.length, 'incident')}, ${formatDuration(seconds)} in all`;
}
