import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { count } from '../../parts/figures.ts';
import { Card } from '../../parts/page.tsx';
import { usePreview } from '../../parts/preview.ts';
import { timeZone, TimesIn } from '../../parts/time.tsx';
import { formatSpan } from './words.tsx';

type Preview = Schemas['MaintenancePreview'];

/** Names of monitors that are shown. */
const SHOWN = 10;

/**
 * What a window would mean: when it takes place, for which monitors, and how many alerts it would have held. `body` is
 * null while the form is not complete.
 */
export function WindowPreview({ body, zone }: { body: Schemas['MaintenanceWindowCreate'] | null; zone: string }) {
  // A name or a description changes nothing of it.
  const { answer, problem } = usePreview(body && { ...body, name: '-', description: '' }, (request) =>
    api.post('/maintenance-windows/preview', request),
  );
  return (
    <Card>
      <section aria-label="Preview" aria-live="polite" class="flex flex-col gap-4 text-sm">
        <h2 class="heading text-base">Preview</h2>
        {body === null ? (
          <p class="text-soft">Once times and monitors are chosen, this shows what the window would mean.</p>
        ) : problem.value !== null ? (
          <p class="text-down">{problem.value}</p>
        ) : answer.value === null ? (
          <p class="text-soft">Loading…</p>
        ) : (
          <Parts preview={answer.value} zone={zone} />
        )}
      </section>
    </Card>
  );
}

function Parts({ preview: { occurrences, monitors, held_alerts: held }, zone }: { preview: Preview; zone: string }) {
  const isElsewhere = zone !== timeZone.value;
  const more = monitors.total - Math.min(SHOWN, monitors.first.length);
  return (
    <>
      <div>
        <h3 class="font-medium">{occurrences.length === 0 ? 'Over already' : 'Next times'}</h3>
        <p class="text-xs text-soft">
          <TimesIn zone={zone} />
        </p>
        <ol class="mt-1 flex flex-col gap-0.5" aria-label="Next times">
          {occurrences.map((one) => (
            <li key={one.starts_at} class="tabular-nums">
              {formatSpan(one, zone)}
              {isElsewhere && <span class="block text-xs text-soft">for you {formatSpan(one)}</span>}
            </li>
          ))}
        </ol>
      </div>
      <div>
        <h3 class="font-medium">{count(monitors.total, 'monitor')}</h3>
        {monitors.total > 0 && (
          <p class="wrap-anywhere text-soft">
            {monitors.first
              .slice(0, SHOWN)
              .map(({ name }) => name)
              .join(', ')}
            {more > 0 && ` and ${more} more`}
          </p>
        )}
      </div>
      <p class="text-soft">
        {held === 0
          ? 'No alert of the last 30 days would have been affected.'
          : `${count(held, 'alert')} of the last 30 days would have been affected.`}
      </p>
    </>
  );
}
