// oxlint-disable-next-line import/no-unassigned-import -- styles have no name.
import './colors.css';
import type { Schemas } from '../client/api.ts';
import { formatLatency } from '../parts/time.tsx';

type Timings = Schemas['PhasesMs'];

/** Steps of a request in order, with labels. */
export const TIMINGS: readonly { name: keyof Timings; label: string; is: string }[] = [
  { name: 'dns_ms', label: 'DNS', is: 'DNS lookup' },
  { name: 'connect_ms', label: 'Connect', is: 'TCP connect' },
  { name: 'tls_ms', label: 'TLS', is: 'TLS handshake' },
  { name: 'first_byte_ms', label: 'Wait', is: 'waiting for the first byte' },
  { name: 'download_ms', label: 'Download', is: 'downloading the body' },
];

/** Reports whether any step was timed. */
export function hasTimings(timings: Timings | null): timings is Timings {
  return timings !== null && TIMINGS.some(({ name }) => timings[name] !== null);
}

/** Returns the sum of all steps in milliseconds. */
export function sumTimings(timings: Timings): number {
  return TIMINGS.reduce((sum, { name }) => sum + (timings[name] ?? 0), 0);
}

/** A bar of the steps of a request, its width relative to `fullMs`, and the duration of each. */
export function TimingBar({ timings, fullMs, label }: { timings: Timings; fullMs: number; label: string }) {
  const shown = TIMINGS.filter(({ name }) => timings[name] !== null);
  return (
    <div>
      <div class="flex h-3 w-full overflow-hidden rounded-sm bg-sunken" aria-hidden="true">
        {shown.map(({ name }) => (
          <span
            key={name}
            class="h-full"
            style={{
              width: `${((timings[name] ?? 0) / Math.max(fullMs, 1)) * 100}%`,
              background: `var(--${timingColor(name)})`,
            }}
          />
        ))}
      </div>
      <dl class="mt-1.5 flex flex-wrap gap-x-4 gap-y-0.5 text-xs" aria-label={label}>
        {shown.map(({ name, label: word, is }) => (
          <div key={name} class="flex items-center gap-1.5" title={`${word}: ${is}`}>
            <span
              class="size-2 rounded-[2px]"
              style={{ background: `var(--${timingColor(name)})` }}
              aria-hidden="true"
            />
            <dt class="text-soft">{word}</dt>
            <dd>{formatLatency(timings[name] ?? 0)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Returns the color of a step. */
export function timingColor(name: keyof Timings): string {
  return lineColor(TIMINGS.findIndex((timing) => timing.name === name) + 1);
}

/** Number of line colors; further lines start over. */
const COLORS = 6;

/** Returns the name of the color of the nth line, from 0. */
export function lineColor(index: number): string {
  return `plot-${(index % COLORS) + 1}`;
}
