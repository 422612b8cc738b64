import { api, type Schemas } from '../../client/api.ts';
import type { JudgedForm } from '../../parts/action.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { Field, TextField, inputClass } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { usePreview } from '../../parts/load.tsx';
import { Card } from '../../parts/page.tsx';
import { TimesIn, timeZone } from '../../parts/time.tsx';
import { WEEKDAYS, chosenWeekdays, dayName, formatSpan, nthWeekday, type Repeats, type WindowDraft } from './draft.tsx';

/** Properties of a part of the form of a maintenance window: the draft, how to change it, and its errors. */
export type FieldsProps = { draft: WindowDraft; set: (part: Partial<WindowDraft>) => void; form: JudgedForm };

/** The repetition of a maintenance window. */
export function RepetitionFields({ draft, set, form }: FieldsProps) {
  return (
    <>
      <SelectField
        label="Repeats"
        options={repeatOptions(draft)}
        value={draft.repeats}
        onValue={(repeats) => set({ repeats: repeats as Repeats })}
      />
      <RuleFields draft={draft} set={set} form={form} />
    </>
  );
}

function repeatOptions({ start }: WindowDraft): { value: Repeats; label: string }[] {
  const hasStart = start !== '';
  return [
    { value: 'once', label: 'Once' },
    { value: 'daily', label: 'Daily' },
    { value: 'weekly', label: 'Weekly' },
    { value: 'monthly', label: hasStart ? `Monthly on day ${Number(start.slice(8, 10))}` : 'Monthly on a day' },
    { value: 'monthly-weekday', label: hasStart ? `Monthly on ${nthWeekday(start)}` : 'Monthly on a weekday' },
    { value: 'cron', label: 'By a cron expression' },
    { value: 'rrule', label: 'By an RRULE' },
  ];
}

const PERIODS: Partial<Record<Repeats, string>> = {
  daily: 'days',
  weekly: 'weeks',
  monthly: 'months',
  'monthly-weekday': 'months',
};

/** The fields of a repetition: a text, or the interval with the days of the week and the last day. */
function RuleFields({ draft, set, form }: FieldsProps) {
  const { repeats } = draft;
  if (repeats === 'once') return null;
  if (repeats === 'cron' || repeats === 'rrule') {
    const isCron = repeats === 'cron';
    return (
      <TextField
        label={isCron ? 'Cron expression' : 'RRULE'}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        maxLength={500}
        placeholder={isCron ? '30 3 * * SUN' : 'FREQ=MONTHLY;BYDAY=1SU'}
        value={draft[repeats]}
        onValue={(text) => set({ [repeats]: text })}
        error={form.problem(repeats)}
        hint={
          isCron
            ? 'Minute, hour, day of the month, month, day of the week, by the clock of the time zone.'
            : 'Of RFC 5545, without DTSTART: the first start is below.'
        }
      />
    );
  }
  return (
    <>
      {repeats === 'weekly' && <WeekdayFields draft={draft} set={set} />}
      <div class="grid gap-4 sm:grid-cols-2">
        <TextField
          label={`Interval in ${PERIODS[repeats] ?? ''}`}
          inputMode="numeric"
          value={draft.every}
          onValue={(every) => set({ every })}
          error={form.problem('rrule')}
        />
        <Field label="Last day" hint="Optional.">
          {(input) => (
            <input
              {...input}
              type="date"
              value={draft.lastDay}
              onInput={({ currentTarget }) => set({ lastDay: currentTarget.value })}
              class={`${inputClass(input)} h-9`}
            />
          )}
        </Field>
      </div>
    </>
  );
}

function WeekdayFields({ draft, set }: Pick<FieldsProps, 'draft' | 'set'>) {
  const chosen = chosenWeekdays(draft);
  const toggle = (day: string, isOn: boolean) => {
    const weekdays = isOn ? [...chosen, day] : chosen.filter((each) => each !== day);
    if (weekdays.length > 0) set({ weekdays });
  };
  return (
    <fieldset>
      <legend class="mb-1 text-sm font-medium">On</legend>
      <div class="flex flex-wrap gap-x-4 gap-y-1.5">
        {WEEKDAYS.map((day) => (
          <label key={day} class="flex items-center gap-1.5 text-sm">
            <input
              type="checkbox"
              checked={chosen.includes(day)}
              onChange={(event) => {
                toggle(day, event.currentTarget.checked);
                // The last chosen day stays chosen.
                event.currentTarget.checked = event.currentTarget.checked || chosen.join() === day;
              }}
              class="size-[1.125rem] accent-accent"
            />
            {dayName(day).slice(0, 3)}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

type Preview = Schemas['MaintenancePreview'];

/** Most monitors whose names are shown. */
const SHOWN = 10;

/**
 * Previews a window: when it takes place, for which monitors, and how many alerts it would have held. `body` is null
 * while the form is incomplete.
 */
export function WindowPreview({ body, zone }: { body: Schemas['MaintenanceWindowCreate'] | null; zone: string }) {
  // Name and description do not affect the preview.
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
