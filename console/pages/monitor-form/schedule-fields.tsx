import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { sentenceOf } from '../../client/failure.ts';
import type { Schemas } from '../../client/shapes.ts';
import { TextField } from '../../parts/field.tsx';
import { ZoneField } from '../../parts/zone-field.tsx';
import { formatZoned } from '../monitor/type-settings.tsx';
import { scheduleOf } from './check-spec.ts';
import type { FormState } from './defaults.ts';
import type { Draft } from './draft.ts';
import { DurationField } from './fields.tsx';

/** The pause after the last change before the next runs are asked for, in milliseconds. */
const PAUSE_MS = 400;

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
  const preview = useSignal<Schemas['SchedulePreview'] | null>(null);
  const problem = useSignal<string | null>(null);
  const asked = JSON.stringify(scheduleOf(heartbeat));
  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      try {
        const answer = await api.post('/monitors/schedule-preview', {
          body: JSON.parse(asked) as Schemas['HeartbeatSchedule'],
          signal: abort.signal,
        });
        if (abort.signal.aborted) return;
        preview.value = answer;
        problem.value = null;
      } catch (failure) {
        if (!abort.signal.aborted) problem.value = sentenceOf(failure);
      }
    };
    const timer = setTimeout(() => void load(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asked]);
  return (
    <section aria-label="Next runs" aria-live="polite" class="text-sm">
      {problem.value !== null ? (
        <p class="text-down">{problem.value}</p>
      ) : preview.value === null ? (
        <p class="text-soft">Loading…</p>
      ) : (
        <>
          <p class="font-medium">Next runs</p>
          <ul class="text-soft">
            {preview.value.runs.map((run) => (
              <li key={run.at}>{formatZoned(run)}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
