import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { canWrite } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction, useFormAction } from '../../parts/action.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { useDraft } from '../../parts/draft.ts';
import { TextArea, Form, FormError } from '../../parts/field.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { Moment } from '../../parts/time.tsx';

type Note = Schemas['IncidentNote'];
type NotesProps = { incidentId: string; notes: readonly Note[]; onChanged: () => Promise<void> };

/** The notes of an incident, and a form to add one. */
export function Notes({ incidentId, notes, onChanged }: NotesProps) {
  const deletion = useAction();
  const remove = async (note: Note) => {
    if (!(await confirm({ title: 'Delete this note?', text: 'This cannot be undone.', action: 'Delete note' }))) return;
    await deletion.run(async () => {
      await api.delete('/incidents/{id}/notes/{note_id}', { path: { id: incidentId, note_id: note.id } });
      await onChanged();
    });
  };
  return (
    <div class="flex flex-col gap-4">
      {notes.length > 0 && (
        <ul class="flex flex-col gap-3" aria-label="Notes">
          {notes.map((note) => (
            <li key={note.id} class="rounded-lg border border-line bg-surface py-1.5 pl-3 pr-1">
              <div class="flex items-center gap-2 text-xs text-soft">
                <span class="clipped min-w-0 font-medium text-ink">{note.author}</span>
                <Moment at={note.created_at} />
                {canWrite() && (
                  <IconButton
                    icon="trash"
                    label="Delete note"
                    class="ml-auto !size-7"
                    onClick={() => void remove(note)}
                  />
                )}
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

function NoteForm({ incidentId, onChanged }: Omit<NotesProps, 'notes'>) {
  const text = useDraft(`note on ${incidentId}`, '');
  const formAction = useFormAction();
  const send = async () => {
    const note = text.value;
    if (note.trim() === '') return;
    await formAction.run(async () => {
      await api.post('/incidents/{id}/notes', { path: { id: incidentId }, body: { text: note } });
      // What was typed meanwhile stays.
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
