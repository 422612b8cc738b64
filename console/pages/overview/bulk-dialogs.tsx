import { useSignal } from '@preact/signals';
import { sortTags, splitTags } from '../../../core/monitors/monitor.ts';
import { capitalize } from '../../client/answer.ts';
import type { Monitor } from '../../client/api.ts';
import { monitors as allMonitors } from '../../client/live.ts';
import { required } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { CurlButton } from '../../parts/copy.tsx';
import { Dialog, FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { count, formatNumber } from '../../parts/figures.ts';
import { judgeTags } from '../../parts/monitors.ts';
import type { Refusal } from './bulk-run.ts';
import { affected, bodyOf, pickOnly, stepsFor, type BulkAction } from './bulk-steps.ts';

/** Most tags that are offered as buttons, the most used first. */
const MAX_OFFERED = 12;

type TagDialogProps = {
  action: 'tag' | 'untag';
  monitors: readonly Monitor[];
  onTags: (action: 'tag' | 'untag', tags: readonly string[]) => void;
  onClose: () => void;
};

/** Adds tags to the selected monitors, or removes them; offers tags that are in use. */
export function TagDialog({ action, monitors, onTags, onClose }: TagDialogProps) {
  const text = useSignal('');
  const problem = useSignal<string | null>(null);
  const isAdding = action === 'tag';
  const tags = sortTags(splitTags(text.value));
  const changed = affected(action, monitors, tags).length;
  const all = count(monitors.length, 'monitor');
  const offered = mostUsed(isAdding ? (allMonitors.value ?? []) : monitors);
  const type = (typed: string) => {
    text.value = typed;
    problem.value = null;
  };
  const toggle = (tag: string) =>
    type((tags.includes(tag) ? tags.filter((each) => each !== tag) : [...tags, tag]).join(', '));
  const submit = () => {
    problem.value =
      required(text.value.trim(), 'Enter a tag') ??
      judgeTags(text.value) ??
      (changed > 0 ? null : `${isAdding ? 'All of them have' : 'None of them has'} ${tags.join(', ')}`);
    if (problem.value === null) onTags(action, tags);
  };
  return (
    <FormDialog
      title={isAdding ? `Add tags to ${all}` : `Remove tags from ${all}`}
      action={
        changed === 0
          ? `${isAdding ? 'Add' : 'Remove'} tags`
          : `${isAdding ? 'Add to' : 'Remove from'} ${count(changed, 'monitor')}`
      }
      isBusy={false}
      error={null}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Tags"
        placeholder="env:prod, payments"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        autofocus
        hint={isAdding ? 'group:shop/checkout puts monitors into a folder.' : undefined}
        value={text.value}
        error={problem.value}
        onValue={type}
      />
      {offered.length > 0 && (
        <div role="group" aria-label="Tags in use" class="flex flex-wrap gap-1.5">
          {offered.map((tag) => (
            <button
              key={tag}
              type="button"
              aria-pressed={tags.includes(tag)}
              onClick={() => toggle(tag)}
              class={
                'clipped max-w-full rounded-full border px-2.5 py-0.5 text-[0.8125rem] ' +
                (tags.includes(tag)
                  ? 'border-accent bg-accent-tint text-accent'
                  : 'border-line-strong/60 hover:bg-hover')
              }
            >
              {tag}
            </button>
          ))}
        </div>
      )}
      {changed > 0 && judgeTags(text.value) === undefined && <BulkCurl {...{ action, monitors, tags }} />}
    </FormDialog>
  );
}

function mostUsed(monitors: readonly Monitor[]): string[] {
  const uses = new Map<string, number>();
  for (const { tags } of monitors) for (const tag of tags) uses.set(tag, (uses.get(tag) ?? 0) + 1);
  const byUse = [...uses].toSorted(([a, left], [b, right]) => right - left || (a < b ? -1 : 1));
  return byUse.slice(0, MAX_OFFERED).map(([tag]) => tag);
}

/** Most names in the question, and the number of monitors from which that number has to be typed. */
const MAX_NAMED = 5;
const MANY = 10;

type DeleteDialogProps = {
  monitors: readonly Monitor[];
  /** Number of them that the filters hide. */
  hidden: number;
  onDelete: () => void;
  onClose: () => void;
};

/** Asks before monitors are deleted, which cannot be undone (D-488). To delete many, their number has to be typed. */
export function DeleteDialog({ monitors, hidden, onDelete, onClose }: DeleteDialogProps) {
  const typed = useSignal('');
  const problem = useSignal<string | null>(null);
  const number = monitors.length;
  const isMany = number >= MANY;
  const submit = () => {
    const isRight = !isMany || typed.value.replaceAll(/[\s,.]/g, '') === String(number);
    problem.value = isRight ? null : `Type ${number} to confirm`;
    if (isRight) onDelete();
  };
  return (
    <FormDialog
      title={number === 1 ? `Delete ${monitors[0]?.name}?` : `Delete ${count(number, 'monitor')}?`}
      action={`Delete ${count(number, 'monitor')}`}
      tone="danger"
      isBusy={false}
      error={null}
      onSubmit={submit}
      onClose={onClose}
    >
      <div class="flex flex-col gap-2 text-sm">
        <p>
          Checks stop, open incidents are resolved, and the settings are deleted for good. This can’t be undone; pause
          monitors to stop their checks only. Past incidents stay in the list of incidents and in reports.
        </p>
        <ul aria-label="To be deleted" class="list-disc pl-5">
          {monitors.slice(0, MAX_NAMED).map(({ id, name }) => (
            <li key={id} class="break-words">
              {name}
            </li>
          ))}
          {number > MAX_NAMED && <li>{`${formatNumber(number - MAX_NAMED)} more`}</li>}
        </ul>
        {hidden > 0 && (
          <p class="font-medium">
            {hidden === number
              ? 'None of them is'
              : `${formatNumber(hidden)} of them ${hidden === 1 ? 'is' : 'are'} not`}{' '}
            in the list you see: your filters leave them out.
          </p>
        )}
      </div>
      {isMany && (
        <TextField
          label={`Type ${number} to confirm`}
          inputMode="numeric"
          autocomplete="off"
          autofocus
          value={typed.value}
          error={problem.value}
          onValue={(value) => (typed.value = value)}
        />
      )}
      <BulkCurl action="delete" monitors={monitors} tags={[]} />
    </FormDialog>
  );
}

/** Most monitors whose ids a shell takes in one command. */
const MAX_IN_COMMAND = 1000;

function BulkCurl({ action, monitors, tags }: { action: BulkAction; monitors: readonly Monitor[]; tags: string[] }) {
  const steps = stepsFor(action, monitors, tags);
  const [step] = steps;
  if (step === undefined || step.ids.length > MAX_IN_COMMAND) return null;
  return (
    <div class="-ml-3.5 -mt-2 flex">
      <CurlButton request={() => ({ method: 'POST', path: '/monitors/bulk', body: bodyOf(step) })} />
    </div>
  );
}

/** Number of failures listed at first, and by each press of the button. */
const FAILURES = 100;

/** Every monitor that could not be changed, with the reason. */
export function FailuresDialog({ refusals, onClose }: { refusals: readonly Refusal[]; onClose: () => void }) {
  const most = useSignal(FAILURES);
  const left = refusals.length - most.value;
  const select = () => {
    pickOnly(refusals.map(({ id }) => id));
    onClose();
  };
  return (
    <Dialog
      title={count(refusals.length, 'failure')}
      onClose={onClose}
      actions={<Button onClick={select}>{refusals.length === 1 ? 'Select it' : 'Select them'}</Button>}
    >
      <ul aria-label="Failures" class="flex flex-col gap-2.5 text-sm">
        {refusals.slice(0, most.value).map(({ id, name, reason }) => (
          <li key={id} class="min-w-0">
            <span class="block break-words font-medium">{name}</span>
            <span class="block break-words text-soft">{capitalize(reason)}</span>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <Button size="small" class="mt-3" onClick={() => (most.value += FAILURES)}>
          {`Show ${Math.min(left, FAILURES)} more`}
        </Button>
      )}
    </Dialog>
  );
}
