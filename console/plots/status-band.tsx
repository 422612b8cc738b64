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
