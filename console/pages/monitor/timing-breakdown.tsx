import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { IconButton } from '../../parts/button.tsx';
import { useLoad } from '../../parts/load.tsx';
import { formatLatency } from '../../parts/time.tsx';
import type { Span } from '../../plots/series.ts';
import { labelStep } from '../../plots/time-labels.ts';
import { hasTimings, TimingBar, sumTimings } from '../../plots/timing-bar.tsx';
import { setQuery } from '../../shell/router.ts';
import { STEP_SECONDS } from './lines.ts';

type TimingBreakdownProps = {
  monitor: Schemas['Monitor'];
  answer: Schemas['MonitorStats'];
  words: string;
  picked: Span | null;
};

/** Successful checks store their timings once in this many seconds. */
export const KEPT_EVERY = 600;

/** The mean duration of each step of a request, in the window and at the picked moment. */
export function TimingBreakdown({ monitor, answer, words, picked }: TimingBreakdownProps) {
  const { phases } = answer.totals;
  const requested = picked === null ? null : aroundOf(picked);
  const then = useLoad<Schemas['MonitorStats'] | null>(
    // A step that has just begun cannot be requested yet.
    async (signal) =>
      requested === null || requested.from >= Date.now() / 1000 - 1
        ? null
        : await api.get('/monitors/{id}/stats', { path: { id: monitor.id }, query: requested, signal }),
    [monitor.id, requested?.from, requested?.to],
  );
  const { value: moment } = then.value;
  const momentTimings =
    requested !== null && moment !== null && moment.from === requested.from ? moment.totals.phases : null;
  const isWider = requested !== null && picked !== null && requested.to - requested.from > picked.to - picked.from;
  if (!hasTimings(phases) && picked === null) return null;
  const fullMs = Math.max(
    hasTimings(phases) ? sumTimings(phases) : 0,
    hasTimings(momentTimings) ? sumTimings(momentTimings) : 0,
  );
  return (
    <div class="mt-3 grid gap-3 border-t border-line pt-3">
      {picked !== null && (
        <div>
          <div class="mb-1 flex items-start justify-between gap-2">
            <h3 class="text-[0.8125rem] font-medium">
              {labelStep(picked.from, STEP_SECONDS[answer.resolution])}{' '}
              <span class="font-normal text-soft">
                {hasTimings(momentTimings)
                  ? `average${isWider ? ' of these 10 minutes' : ''}: ${formatLatency(sumTimings(momentTimings))}`
                  : then.isBusy.value
                    ? ''
                    : 'no timings stored'}
              </span>
            </h3>
            <IconButton
              icon="close"
              label="Clear selection"
              onClick={() => setQuery({ at: '' })}
              class="-my-1.5 size-8"
            />
          </div>
          {hasTimings(momentTimings) && (
            <TimingBar timings={momentTimings} fullMs={fullMs} label="Timings of the picked moment" />
          )}
        </div>
      )}
      {hasTimings(phases) && (
        <div>
          <h3 class="mb-1 text-[0.8125rem] font-medium">
            Average breakdown{' '}
            <span class="font-normal text-soft">
              {words}: {formatLatency(sumTimings(phases))}
            </span>
          </h3>
          <TimingBar timings={phases} fullMs={fullMs} label="Timings" />
        </div>
      )}
    </div>
  );
}

/** The picked moment, widened to ten minutes if it is shorter. */
function aroundOf({ from, to }: Span): Span {
  if (to - from >= KEPT_EVERY) return { from, to };
  const start = Math.floor(from / KEPT_EVERY) * KEPT_EVERY;
  return { from: start, to: start + KEPT_EVERY };
}
