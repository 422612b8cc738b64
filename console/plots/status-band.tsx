import type { Schemas } from '../client/shapes.ts';
import { count } from '../parts/figures.ts';
import { formatDateTime, formatDuration } from '../parts/time.tsx';
import type { Span } from './series.ts';

/** The states of the band. */
export type BandState = 'up' | 'none' | 'degraded' | 'down';
/** A span of the band; later parts cover earlier ones. */
export type BandPart = Span & { state: BandState; note?: string };

const STYLES: Record<BandState, string> = {
  up: 'bg-up-fill inset-y-[3px]',
  none: 'hatched inset-y-[3px] min-w-px',
  degraded: 'bg-degraded-fill inset-y-[1.5px] min-w-[3px]',
  down: 'bg-down-fill inset-y-0 min-w-[3px]',
};
const WORDS: Record<BandState, string> = { up: 'Up', none: 'No data', degraded: 'Degraded', down: 'Down' };

/**
 * The status of a monitor over time. Bad spans are taller, so that they stand out without colors, and never narrower
 * than a line.
 */
export function StatusBand({ parts, span, label }: { parts: readonly BandPart[]; span: Span; label: string }) {
  const length = span.to - span.from;
  return (
    <div
      class="relative h-5 w-full overflow-hidden rounded-sm [print-color-adjust:exact]"
      role="img"
      aria-label={label}
    >
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
  /** The service's own outages. */
  gaps: readonly Span[];
  maintenance: readonly (Span & { name: string })[];
  incidents: readonly Incident[];
  span: Span;
  /** Older incidents are not listed: there the uptime of each step is used instead. */
  knownFrom: number;
};

/** The parts of the band: known and unknown steps of the series, and over them the incidents to the second. */
export function bandParts({ steps, gaps, maintenance, incidents, span, knownFrom }: BandInput): BandPart[] {
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
    // Down is painted over degraded.
    .toSorted((a, b) => Number(a.state === 'down') - Number(b.state === 'down'));
  const still = gaps.map(({ from, to }): BandPart => ({ state: 'none', from, to, note: 'monitoring gap' }));
  const windows = maintenance.map(({ name, from, to }): BandPart => ({
    state: 'none',
    from,
    to: Math.min(to, span.to),
    note: `maintenance: ${name}`,
  }));
  return [...parts, ...windows, ...still, ...old, ...exact];
}

/** Describes the band in a sentence. */
export function describeBand(incidents: readonly Incident[], { from, to }: Span, words: string): string {
  const within = incidents.filter(({ started_at: start, resolved_at: end }) => (end ?? to) >= from && start <= to);
  if (within.length === 0) return `Status in ${words}: no incidents`;
  const seconds = within.reduce(
    (sum, { started_at: start, resolved_at: end }) =>
      sum + Math.max(0, Math.min(end ?? to, to) - Math.max(start, from)),
    0,
  );
  return `Status in ${words}: ${count(within.length, 'incident')}, ${formatDuration(seconds)} in total`;
}
