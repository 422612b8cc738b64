import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { SelectField, ZoneField } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/field.tsx';
import { usePreview } from '../../parts/load.tsx';
import { formatZoned } from '../monitor/type-settings.tsx';
import { scheduleOf } from './body.ts';
import { Components } from './components.tsx';
import type { Draft, MonitorType } from './draft.ts';
import { DurationField, NumberField } from './fields.tsx';
import { formatIntervals } from './judge-spec.ts';
import { suggestName } from './judge.ts';
import type { FormState } from './problems.ts';
import { TYPES, TYPE_ORDER } from './words.ts';

const OTHER = 'other';

/** Chooses a vendor from the catalog, or another one by the URL of its status page. */
function VendorChoice({ form: { draft, change, problem, vendors } }: { form: FormState }) {
  const isKnown = vendors.some(({ id }) => id === draft.target.toLowerCase());
  const isOther = useSignal(draft.target !== '' && !isKnown);
  const choose = (value: string) => {
    isOther.value = value === OTHER;
    // Components belong to one vendor.
    change({ target: value === OTHER ? '' : value, components: [] });
  };
  return (
    <div class="flex flex-col gap-3">
      <SelectField
        label="Vendor"
        value={isOther.value ? OTHER : draft.target.toLowerCase()}
        hint="Type to find a vendor in the list."
        error={isOther.value ? undefined : problem('target')}
        options={[
          { value: '', label: 'Choose a vendor' },
          { value: OTHER, label: 'Other (status page URL)' },
          ...vendors.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onValue={choose}
      />
      {isOther.value && (
        <TextField
          label="Status page"
          value={draft.target}
          placeholder="https://status.example.com"
          hint="Must be an Atlassian Statuspage. Checked when you save."
          error={problem('target')}
          inputMode="url"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onValue={(target) => change({ target })}
        />
      )}
    </div>
  );
}

/** The fields of every monitor: target, name and interval, and those that its type requires. */
export function Basics({ form }: { form: FormState }) {
  const { draft, change, defaults, surroundings, problem, monitor, vendors } = form;
  const { type } = draft;
  const isScheduled = type === 'heartbeat' && draft.heartbeat.cron.trim() !== '';
  const suggestion = monitor === null ? suggestName(draft, vendors) : '';
  return (
    <>
      <Target form={form} />
      <TextField
        label="Name"
        value={draft.name}
        maxLength={255}
        placeholder={suggestion}
        autocomplete="off"
        hint={suggestion === '' ? 'Shown in alerts.' : `Shown in alerts. Defaults to ${suggestion}.`}
        error={problem('name')}
        onValue={(name) => change({ name })}
      />
      {type === 'vendor' && <Components form={form} />}
      <TextField
        label="Tags"
        value={draft.tags}
        placeholder="env:prod, payments"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        hint="Optional. Find monitors by them, and route their alerts."
        error={problem('tags')}
        onValue={(tags) => change({ tags })}
      />
      {type === 'heartbeat' && <ScheduleFields form={form} />}
      <div class="grid gap-5 md:grid-cols-2">
        {!isScheduled && (
          <DurationField
            key={type}
            label={type === 'heartbeat' ? 'Expect a ping every' : 'Check every'}
            seconds={draft.interval}
            onSeconds={(interval) => change({ interval })}
            standard={defaults.interval}
            hint={`${formatIntervals(surroundings.minInterval)}.`}
            error={problem('interval_seconds')}
          />
        )}
        {type === 'heartbeat' && (
          <DurationField
            label="Grace period"
            seconds={draft.grace}
            onSeconds={(grace) => change({ grace })}
            standard={defaults.grace}
            hint="How late a ping may be before it counts as missed."
            error={problem('grace_seconds')}
          />
        )}
        {type === 'domain' && (
          <NumberField
            label="Warn before expiry"
            unit="days"
            value={draft.warnDays}
            onValue={(warnDays) => change({ warnDays })}
            standard={defaults.warnDays}
            error={problem('warn_days')}
          />
        )}
      </div>
    </>
  );
}

function Target({ form }: { form: FormState }) {
  const { draft, change, problem } = form;
  const { target } = TYPES[draft.type];
  if (target === null) return null;
  if (draft.type === 'vendor') return <VendorChoice form={form} />;
  return (
    <TextField
      key={draft.type}
      name="target"
      label={target.label}
      value={draft.target}
      placeholder={target.placeholder}
      hint={target.hint}
      error={problem('target')}
      inputMode={draft.type === 'http' ? 'url' : 'text'}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      onValue={(text) => change({ target: text })}
    />
  );
}

/** Chooses the type of a monitor; the arrow keys move between the types. */
export function TypeChooser({ type, onType }: { type: MonitorType; onType: (type: MonitorType) => void }) {
  return (
    <fieldset class="min-w-0">
      <legend class="mb-2 text-sm font-medium">Monitor type</legend>
      <div class="grid grid-cols-2 gap-2 md:grid-cols-4">
        {TYPE_ORDER.map((each) => (
          <label
            key={each}
            class={
              'relative block cursor-pointer rounded-lg border px-3 py-2.5 hover:bg-hover focus-within:outline-2 ' +
              'focus-within:outline-offset-2 focus-within:outline-focus ' +
              `${type === each ? 'border-accent bg-accent-tint' : 'border-line bg-surface'}`
            }
          >
            <input
              type="radio"
              name="type"
              value={each}
              checked={type === each}
              onChange={() => onType(each)}
              aria-describedby="type-use"
              class="absolute inset-0 cursor-pointer opacity-0"
            />
            <span class={`block text-sm font-medium ${type === each ? 'text-accent' : ''}`}>{TYPES[each].label}</span>
            <span class="mt-0.5 hidden text-xs text-soft md:block" aria-hidden="true">
              {TYPES[each].use}
            </span>
          </label>
        ))}
      </div>
      <p id="type-use" class="mt-2 text-[0.8125rem] text-soft md:sr-only">
        {TYPES[type].use}
      </p>
    </fieldset>
  );
}

/** The schedule of a heartbeat, and its next runs. */
function ScheduleFields({ form: { draft, change, problem, problems, judge, monitor } }: { form: FormState }) {
  const { heartbeat } = draft;
  // The preview judges every other text than the refused one.
  const refused = useMemo(() => heartbeat.cron, [problems]);
  const cronProblem = heartbeat.cron === refused ? problem('check_spec.heartbeat.schedule.cron') : undefined;
  const set = (part: Partial<Draft['heartbeat']>) => change({ heartbeat: { ...heartbeat, ...part } });
  const isScheduled = heartbeat.cron.trim() !== '';
  const setCron = (cron: string) => {
    // A schedule hides the interval, which must then have no error.
    const isHiddenProblem = !isScheduled && judge().interval_seconds !== undefined;
    change({
      heartbeat: { ...heartbeat, cron },
      ...(isHiddenProblem && { interval: String(monitor?.interval_seconds ?? '') }),
    });
  };
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
        error={cronProblem}
        onValue={setCron}
      />
      {isScheduled && (
        <>
          <NextRuns heartbeat={heartbeat} isRefused={cronProblem !== undefined} />
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

/** The next runs of a schedule, in its zone and in UTC, or its error unless the schedule's own field shows one. */
function NextRuns({ heartbeat, isRefused }: { heartbeat: Draft['heartbeat']; isRefused: boolean }) {
  const { answer, problem } = usePreview(scheduleOf(heartbeat), (request) =>
    api.post('/monitors/schedule-preview', request),
  );
  return (
    <section aria-label="Next runs" aria-live="polite" class="text-sm">
      {isRefused ? null : problem.value !== null ? (
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
