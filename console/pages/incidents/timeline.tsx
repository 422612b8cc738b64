import type { ComponentChildren } from 'preact';
import { problemsByField } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { canWrite, useDraft } from '../../client/session-state.ts';
import { useAction, useFormAction } from '../../parts/action.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { confirm, useUnsaved } from '../../parts/dialog.tsx';
import { Form, FormError, TextArea } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { STATUSES, incidentStatus, type Status } from '../../parts/monitors.ts';
import { Fact } from '../../parts/object-page.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Moment, Since, formatDateTime, formatDuration, formatExact } from '../../parts/time.tsx';

type Transition = Schemas['IncidentTransition'];
type Statement = Schemas['SourceStatement'];

/** Labels of the states of a monitor; unknown has the mark of pending. */
const STATES: Record<Schemas['TransitionState'], { label: string; status: Status }> = {
  up: { label: 'Recovered', status: 'up' },
  degraded: { label: 'Degraded', status: 'degraded' },
  down: { label: 'Down', status: 'down' },
  unknown: { label: 'Unknown', status: 'pending' },
  paused: { label: 'Paused', status: 'paused' },
  pending: { label: 'Waiting for first check', status: 'pending' },
};

/** Why the vote of a location did not count. */
const SOURCE_STATUSES: Record<Statement['standing'], string | null> = {
  votes: null,
  offline: 'agent offline',
  silent: 'no recent result',
  undecided: 'undecided',
  unable: 'cannot run this check',
};

type Step = { key: string; at: number; mark: ComponentChildren; body: ComponentChildren };

/** The transitions of an incident, the oldest first, with each location's vote, and the acknowledgement. */
export function Timeline({ incident }: { incident: Schemas['IncidentDetail'] }) {
  const steps: Step[] = incident.timeline.map((transition) => ({
    key: String(transition.sequence),
    at: transition.at,
    mark: <StatusMark status={STATES[transition.to].status} silent class="size-3.5" />,
    body: <Change transition={transition} />,
  }));
  if (incident.acknowledged_at !== null) {
    steps.push({
      key: 'acknowledged',
      at: incident.acknowledged_at,
      mark: <Icon name="person" class="size-4 text-accent" />,
      body: <p class="text-sm font-medium">Acknowledged by {incident.acknowledged_by ?? 'a member'}</p>,
    });
  }
  if (steps.length === 0) return <p class="text-sm text-soft">No timeline stored.</p>;
  return (
    <ol>
      {steps
        .toSorted((a, b) => a.at - b.at)
        .map(({ key, at, mark, body }) => (
          <li key={key} class="group relative flex gap-3 pb-5 last:pb-0">
            <span class="absolute bottom-0 left-2.5 top-6 w-px bg-line group-last:hidden" aria-hidden="true" />
            <span class="grid size-5 shrink-0 place-items-center">{mark}</span>
            <div class="min-w-0 flex-1">
              {body}
              <time
                class="mt-0.5 block text-xs text-soft"
                dateTime={new Date(at * 1000).toISOString()}
                title={formatDateTime(at)}
              >
                {formatExact(at)}
              </time>
            </div>
          </li>
        ))}
    </ol>
  );
}

function Change({ transition }: { transition: Transition }) {
  const { to, at, detected_at: detectedAt, reason, sources } = transition;
  return (
    <>
      <p class="break-words text-sm">
        <span class="font-medium">{STATES[to].label}</span>
        {reason !== null && <span class="text-soft"> · {reason}</span>}
        {to === 'up' && <StillDown sources={sources} />}
        {detectedAt > at && <span class="text-soft"> · confirmed after {formatDuration(detectedAt - at)}</span>}
      </p>
      {sources.length > 0 && (
        <ul class="mt-1 flex flex-wrap gap-1.5" aria-label="Results by location">
          {sources.map((source) => (
            <SaidBy key={source.name} source={source} />
          ))}
        </ul>
      )}
    </>
  );
}

/** The reason why a monitor is up although a location still reports it down. */
function StillDown({ sources }: { sources: readonly Statement[] }) {
  const voting = sources.filter(({ standing }) => standing === 'votes');
  const down = voting.filter(({ verdict }) => verdict === 'down').length;
  if (down === 0) return null;
  return (
    <span class="text-soft">{` · ${down} of ${count(voting.length, 'location')} still down: too few to agree`}</span>
  );
}

function SaidBy({ source: { name, verdict, standing, reason } }: { source: Statement }) {
  return (
    <li
      class="inline-flex max-w-full items-center gap-1.5 rounded border border-line bg-surface px-1.5 text-xs leading-5"
      title={reason ?? undefined}
    >
      <StatusMark status={verdict ?? 'pending'} silent class={`size-2.5 ${standing === 'votes' ? '' : 'opacity-50'}`} />
      <span class="clipped">
        {name} <span class="text-soft">{SOURCE_STATUSES[standing] ?? verdict ?? 'undecided'}</span>
      </span>
    </li>
  );
}

type Note = Schemas['IncidentNote'];
type NotesProps = { incidentId: string; notes: readonly Note[]; onChanged: () => Promise<void> };

/** The notes of an incident, and a form to add one. */
export function Notes({ incidentId, notes, onChanged }: NotesProps) {
  return (
    <div class="flex flex-col gap-4">
      {notes.length > 0 && (
        <ul class="flex flex-col gap-3" aria-label="Notes">
          {notes.map((note) => (
            <li key={note.id} class="rounded-lg border border-line bg-surface py-1.5 pl-3 pr-1">
              <div class="flex items-center gap-2 text-xs text-soft">
                <span class="clipped min-w-0 font-medium text-ink">{note.author}</span>
                <Moment at={note.created_at} />
                {canWrite() && <DeleteNote path={{ id: incidentId, note_id: note.id }} onChanged={onChanged} />}
              </div>
              <Markdown text={note.text} isNote class="pb-1 pr-2 text-sm" />
            </li>
          ))}
        </ul>
      )}
      {canWrite() ? (
        <NoteForm incidentId={incidentId} onChanged={onChanged} />
      ) : (
        notes.length === 0 && <p class="text-sm text-soft">No notes yet.</p>
      )}
    </div>
  );
}

type DeleteProps = { path: { id: string; note_id: string }; onChanged: () => Promise<void> };

function DeleteNote({ path, onChanged }: DeleteProps) {
  const { run } = useAction();
  const remove = async () => {
    if (!(await confirm({ title: 'Delete this note?', text: 'This cannot be undone.', action: 'Delete note' }))) return;
    await run(async () => {
      await api.delete('/incidents/{id}/notes/{note_id}', { path });
      await onChanged();
    });
  };
  return <IconButton icon="trash" label="Delete note" class="ml-auto !size-7" onClick={() => void remove()} />;
}

function NoteForm({ incidentId, onChanged }: Omit<NotesProps, 'notes'>) {
  const text = useDraft(`note on ${incidentId}`, '');
  const formAction = useFormAction();
  useUnsaved(() => text.value.trim() !== '', formAction.isBusy.value);
  const send = async () => {
    const note = text.value;
    if (note.trim() === '') return;
    await formAction.run(async () => {
      const path = { id: incidentId };
      await api.post('/incidents/{id}/notes', { path, body: { text: note }, creates: 'note' });
      // Input typed meanwhile stays.
      if (text.value === note) text.value = '';
      void onChanged();
    });
  };
  const { byField, rest } = problemsByField(formAction.error.value, { text: 'Enter 1 to 4000 characters' });
  return (
    <Form class="flex flex-col gap-2" onSubmit={send}>
      <TextArea
        label="Add a note"
        hideLabel
        placeholder="Findings and actions"
        hint="Markdown: **bold**, `code`, lists, [link](https://…)"
        maxLength={4000}
        rows={3}
        value={text.value}
        onValue={(value) => (text.value = value)}
        error={byField['text']}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send();
        }}
      />
      <FormError text={rest} />
      <div>
        <Button type="submit" size="small" busy={formAction.isBusy.value} disabled={text.value.trim() === ''}>
          Add note
        </Button>
      </div>
    </Form>
  );
}

type Incident = Schemas['Incident'];

const TINTS: Record<Incident['state'], string> = {
  down: 'bg-down-tint border-down/30',
  degraded: 'bg-degraded-tint border-degraded/30',
};
const ENDINGS: Record<NonNullable<Incident['resolution']>, string> = {
  recovered: 'Recovered',
  paused: 'Monitor paused',
  deleted: 'Monitor deleted',
};

/** The summary of an incident: its worst state, duration, reason, locations and acknowledgement. */
export function IncidentStatus({ incident }: { incident: Incident }) {
  const { state, status } = incident;
  const isOpen = status === 'open';
  const { label, text } = STATUSES[state];
  return (
    <div class={`mb-8 rounded-xl border p-4 md:p-5 ${isOpen ? TINTS[state] : 'border-line bg-surface'}`}>
      <p class={`flex items-center gap-2.5 text-lg font-semibold md:text-xl ${isOpen ? text : ''}`}>
        <StatusMark status={incidentStatus(incident)} silent class="size-4" />
        <span>
          {isOpen ? (
            <>
              {label} for <Since at={incident.started_at} />
            </>
          ) : (
            `Was ${label.toLowerCase()} for ${formatDuration(incident.duration_seconds)}`
          )}
        </span>
      </p>
      <p class="mt-1 break-words text-[0.9375rem]">{incident.reason}</p>
      <dl class="mt-4 grid grid-cols-2 gap-x-6 gap-y-3 text-sm md:grid-cols-4">
        <Fact name="Started">
          <time dateTime={new Date(incident.started_at * 1000).toISOString()}>
            {formatDateTime(incident.started_at)}
          </time>
          {incident.detected_at > incident.started_at && (
            <Small>confirmed after {formatDuration(incident.detected_at - incident.started_at)}</Small>
          )}
        </Fact>
        {incident.resolved_at !== null && (
          <Fact name="Resolved">
            <time dateTime={new Date(incident.resolved_at * 1000).toISOString()}>
              {formatDateTime(incident.resolved_at)}
            </time>
            {incident.resolution !== null && <Small>{ENDINGS[incident.resolution]}</Small>}
          </Fact>
        )}
        <Fact name={isOpen ? 'Failing from' : 'Failed from'}>
          {incident.sources_down.length === 0 ? 'No location' : incident.sources_down.join(', ')}
        </Fact>
        <Fact name="Acknowledged by">
          {incident.acknowledged_at === null ? (
            'Not acknowledged'
          ) : (
            <>
              {incident.acknowledged_by ?? 'A member'}
              <Small>
                <Moment at={incident.acknowledged_at} />
              </Small>
            </>
          )}
        </Fact>
      </dl>
    </div>
  );
}

function Small({ children }: { children: ComponentChildren }) {
  return <span class="block text-xs text-soft">{children}</span>;
}
