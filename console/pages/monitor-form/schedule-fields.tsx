import { api } from '../../client/api.ts';
import { TextField } from '../../parts/field.tsx';
import { usePreview } from '../../parts/preview.ts';
import { ZoneField } from '../../parts/zone-field.tsx';
import { formatZoned } from '../monitor/type-settings.tsx';
import { scheduleOf } from './check-spec.ts';
import type { FormState } from './defaults.ts';
import type { Draft } from './draft.ts';
import { DurationField } from './fields.tsx';

/** The schedule of a heartbeat, and its next runs. */
export function ScheduleFields({ form: { draft, change, problem } }: { form: FormState }) {
  const { heartbeat } = draft;
  const set = (part: Partial<Draft['heartbeat']>) => change({ heartbeat: { ...heartbeat, ...part } });
  const isScheduled = heartbeat.cron.trim() !== '';
  return (
    <>
      <TextField
        label="Cron schedule"
        value={heartbeat.cron}
        placeholder="0 2 * * MON-FRI"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        maxLength={200}
        hint="Optional. Minute, hour, day of month, month, day of week, as in crontab. Empty for a fixed interval."
        error={problem('check_spec.heartbeat.schedule.cron')}
        onValue={(cron) => set({ cron })}
      />
      {isScheduled && (
        <>
          <NextRuns heartbeat={heartbeat} />
          <div class="grid gap-5 md:grid-cols-2">
            <ZoneField
              value={heartbeat.timezone === '' ? 'UTC' : heartbeat.timezone}
              onValue={(timezone) => set({ timezone })}
              hint="Whose clock the schedule goes by."
              error={problem('check_spec.heartbeat.schedule.timezone')}
            />
            <DurationField
              label="Accept pings early by"
              seconds={heartbeat.early}
              onSeconds={(early) => set({ early })}
              standard={null}
              hint="A ping this soon before a run counts for it. Leave empty for a minute."
              error={problem('check_spec.heartbeat.schedule.early_seconds')}
            />
          </div>
        </>
      )}
    </>
  );
}

/** When a schedule runs next, in its zone and in UTC; what is wrong with it is said where it is saved. */
function NextRuns({ heartbeat }: { heartbeat: Draft['heartbeat'] }) {
  const { answer, problem } = usePreview(scheduleOf(heartbeat), (request) =>
    api.post('/monitors/schedule-preview', request),
  );
  return (
    <section aria-label="Next runs" aria-live="polite" class="text-sm">
      {problem.value !== null ? (
        <p class="text-down">{problem.value}</p>
      ) : answer.value === null ? (
        <p class="text-soft">Loading…</p>
      ) : (
        <>
          <p class="font-medium">Next runs</p>
          <ul class="text-soft">
            {answer.value.runs.map((run) => (
              <li key={run.at}>{formatZoned(run)}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
