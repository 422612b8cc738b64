import { useMemo, useRef } from 'preact/hooks';
import { capitalize, type FieldTexts } from '../../client/answer.ts';
import { api } from '../../client/api.ts';
import { changesOf, joinChanges, staleFailure } from '../../client/concurrent-edits.ts';
import type { ApiRequest } from '../../client/curl.ts';
import { loadAll } from '../../client/live.ts';
import { canWrite, useDraft } from '../../client/session-state.ts';
import { toast, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { CheckField, SelectField, ZoneField } from '../../parts/choice-fields.tsx';
import { CurlButton } from '../../parts/copy.tsx';
import { askSent, confirm, useLeaveGuard } from '../../parts/dialog.tsx';
import { Field, Form, FormError, TextArea, TextField, inputClass } from '../../parts/field.tsx';
import { useLoad } from '../../parts/load.tsx';
import { ObjectPage, ViewOnly } from '../../parts/object-page.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { clock } from '../../parts/time.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { currentVisit, leaveForm } from '../../shell/router.ts';
import { Routing } from '../channels/monitor-choice.tsx';
import {
  ALERTS,
  UNITS,
  bodyOf,
  draftOf,
  judgeWindow,
  newDraft,
  startsNow,
  withZone,
  type Body,
  type MaintenanceWindow,
  type WindowDraft,
} from './draft.tsx';
import { RepetitionFields, WindowPreview, type FieldsProps } from './repetition.tsx';

const BACK = { label: 'Maintenance', href: PATHS.maintenance };

/** The page that creates or changes a maintenance window. */
export function WindowFormPage({ params: { id } }: PageProps) {
  const title = id === undefined ? 'New maintenance window' : 'Edit maintenance window';
  if (!canWrite()) return <ViewOnly title={title} back={BACK} icon="maintenance" who="plan maintenance" />;
  if (id !== undefined) return <EditWindow id={id} />;
  return (
    <Page title={title} back={BACK}>
      <WindowForm window={null} />
    </Page>
  );
}

function EditWindow({ id }: { id: string }) {
  const load = useLoad((signal) => api.get('/maintenance-windows/{id}', { path: { id }, signal }), [id]);
  return (
    <ObjectPage
      load={load}
      title="Maintenance window"
      icon="maintenance"
      back={BACK}
      missing="It was deleted, or the address is wrong."
    >
      {(window) => (
        <Page title={`Edit ${window.name}`} back={{ label: window.name, href: `/maintenance/${id}` }}>
          <WindowForm window={window} />
        </Page>
      )}
    </ObjectPage>
  );
}

/** Returns an error of the API without the name of its field. */
const said = (sentence: string) => capitalize(sentence.replace(/^\w+ (must )?/, ''));

const TEXTS: FieldTexts = {
  name: 'At most 255 characters',
  description: 'At most 2000 characters',
  starts_at: said,
  timezone: 'Choose a time zone from the list',
  duration_seconds: 'From a minute to 30 days',
  cron: said,
  rrule: said,
  settle_seconds: 'From 0 to 60 minutes',
  monitor_ids: said,
  tags: 'At most 20 tags like env:prod',
};

/** Typed input, and the window that it began with; an earlier release stored neither under these names. */
type KeptDraft = { from?: Body; draft?: WindowDraft };

/** Saves the changes of a window on top of other people's changes; `known` is the form's initial value. */
async function change({ id, known, sent }: { id: string; known: { current: Body }; sent: Body }) {
  const path = { id };
  const present = bodyOf(draftOf(await api.get('/maintenance-windows/{id}', { path })));
  const { changes, theirs } = joinChanges(known.current, sent, present);
  if (theirs !== null) {
    // So that the next save goes ahead.
    known.current = { ...known.current, ...theirs };
    throw staleFailure('this window');
  }
  return await api.patch('/maintenance-windows/{id}', { path, body: withZone(changes, sent) });
}

function WindowForm({ window }: { window: MaintenanceWindow | null }) {
  const initial = useMemo(() => (window === null ? newDraft(clock.peek()) : draftOf(window)), []);
  const saved = useRef(bodyOf(initial));
  const value = useDraft<WindowDraft, KeptDraft>(
    window === null ? 'new maintenance' : `maintenance ${window.id}`,
    initial,
    {
      store: (draft) => ({ from: saved.current, draft }),
      restore: ({ from = saved.current, draft = initial }) => {
        saved.current = from;
        return draft;
      },
    },
  );
  const form = useJudgedForm(TEXTS);
  const draft = value.value;
  const set = (part: Partial<WindowDraft>) => (value.value = { ...draft, ...part });
  const isNew = window === null;
  const isSaved = useRef(false);
  useLeaveGuard({
    isNeeded: Object.keys(changesOf(saved.current, bodyOf(draft))).length > 0,
    isSent: form.isBusy.value,
    ask: () =>
      form.isBusy.value
        ? askSent()
        : confirm({ title: 'Discard changes?', text: 'They have not been saved.', action: 'Discard' }),
    isFree: () => isSaved.current,
  });
  const save = () =>
    form.submit(judgeWindow(draft), async () => {
      const from = currentVisit();
      const { id, name } =
        window === null
          ? await api.post('/maintenance-windows', { body: bodyOf(draft), creates: 'window' })
          : await change({ id: window.id, known: saved, sent: bodyOf(draft) });
      isSaved.current = true;
      toast(isNew ? `${name} planned` : 'Saved');
      leaveForm(`/maintenance/${id}`, from);
      await loadAll();
    });
  const request = (): ApiRequest =>
    window === null
      ? { method: 'POST', path: '/maintenance-windows', body: bodyOf(draft) }
      : {
          method: 'PATCH',
          path: `/maintenance-windows/${window.id}`,
          body: withZone(changesOf(saved.current, bodyOf(draft)), bodyOf(draft)),
        };
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,42rem)_minmax(0,1fr)]">
      <Card>
        <Form class="flex flex-col gap-5" onSubmit={save}>
          <TextField
            label="Name"
            required
            maxLength={255}
            placeholder="Database upgrade"
            value={draft.name}
            onValue={(name) => set({ name })}
            error={form.problem('name')}
          />
          <TimeFields draft={draft} set={set} form={form} isNew={isNew} />
          <Routing
            route={draft.route}
            onRoute={(route) => set({ route })}
            error={form.problem('monitor_ids')}
            tagError={form.problem('tags')}
            legend="For"
            none="."
            canNeedAllTags={false}
          />
          <EffectFields draft={draft} set={set} form={form} />
          <TextArea
            label="Description"
            maxLength={2000}
            value={draft.description}
            onValue={(description) => set({ description })}
            error={form.problem('description')}
            hint="Optional."
          />
          <FormError text={form.rest} />
          <div class="flex flex-wrap items-center gap-2">
            <Button type="submit" tone="primary" busy={form.isBusy.value}>
              {isNew ? 'Plan maintenance' : 'Save changes'}
            </Button>
            <CurlButton request={request} />
          </div>
        </Form>
      </Card>
      <WindowPreview
        body={Object.values(judgeWindow(draft)).some((problem) => problem !== null) ? null : bodyOf(draft)}
        zone={draft.timezone}
      />
    </div>
  );
}

function TimeFields({ draft, set, form, isNew }: FieldsProps & { isNew: boolean }) {
  const canStartNow = isNew && draft.repeats === 'once';
  return (
    <>
      <RepetitionFields draft={draft} set={set} form={form} />
      {canStartNow && (
        <CheckField label="Start now" checked={draft.startsNow} onChecked={(isNow) => set({ startsNow: isNow })} />
      )}
      <div class="grid gap-4 sm:grid-cols-2">
        {!startsNow(draft) && (
          <>
            <Field
              label={draft.repeats === 'once' ? 'Starts' : 'First start'}
              error={form.problem('starts_at')}
              hint={draft.repeats === 'cron' ? 'Nothing before this time.' : undefined}
            >
              {(input) => (
                <input
                  {...input}
                  type="datetime-local"
                  value={draft.start}
                  onInput={({ currentTarget }) => set({ start: currentTarget.value })}
                  class={`${inputClass(input)} h-9`}
                />
              )}
            </Field>
            <ZoneField
              value={draft.timezone}
              onValue={(timezone) => set({ timezone })}
              error={form.problem('timezone')}
            />
          </>
        )}
        <div class="flex items-start gap-2">
          <TextField
            label="Lasts"
            inputMode="decimal"
            class="flex-1"
            value={draft.length}
            onValue={(length) => set({ length })}
            error={form.problem('duration_seconds')}
          />
          <SelectField
            label="Unit"
            class="flex-1"
            options={UNITS}
            value={draft.unit}
            onValue={(unit) => set({ unit })}
          />
        </div>
      </div>
    </>
  );
}

/** The effects of the window: on alerts and uptime, and the time after its end. */
function EffectFields({ draft, set, form }: FieldsProps) {
  const choices = Object.entries(ALERTS).map(([value, { label }]) => ({ value, label }));
  return (
    <>
      <div class="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Alerts to chats"
          options={choices}
          value={draft.alerts}
          onValue={(alerts) => set({ alerts: alerts as WindowDraft['alerts'] })}
          hint={ALERTS[draft.alerts].hint}
        />
        <TextField
          label="Minutes to settle"
          inputMode="decimal"
          value={draft.settle}
          onValue={(settle) => set({ settle })}
          error={form.problem('settle_seconds')}
          hint="Alerts wait so much longer after the end."
        />
      </div>
      <CheckField
        label="Leave it out of uptime and SLA"
        checked={draft.isExcluded}
        onChecked={(isExcluded) => set({ isExcluded })}
      />
    </>
  );
}
