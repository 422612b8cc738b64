import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { api } from '../client/api.ts';
import { sentenceOf } from '../client/failure.ts';
import { openIncidents } from '../client/live.ts';
import type { Incident } from '../client/shapes.ts';
import { Dialog } from '../parts/dialog.tsx';
import { inputClass } from '../parts/field.tsx';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.tsx';
import { StatusMark } from '../parts/status.tsx';
import { toast } from '../parts/toast.tsx';
import { findEntries, type PaletteEntry } from './palette-entries.ts';

/** The newest incidents that the palette finds beside those that are open. */
const RECENT_INCIDENTS = 100;

/** A search in everything that the console has, by keyboard alone: arrows choose, Enter runs, Escape closes. */
export function PaletteDialog({ onClose }: { onClose: () => void }) {
  const text = useSignal('');
  const chosen = useSignal(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const groups = findEntries(text.value, useIncidents());
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.min(chosen.value, entries.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at, text.value]);
  const run = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    onClose();
    // What opens a dialog of its own does so after this one has given the focus back.
    setTimeout(() => void runEntry(entry));
  };
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (event.key !== 'Enter' && step === undefined) return;
    event.preventDefault();
    if (step === undefined) run(entries[at]);
    else if (entries.length > 0) chosen.value = (at + step + entries.length) % entries.length;
  };
  return (
    <Dialog title="Command palette" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        autofocus
        autocomplete="off"
        spellcheck={false}
        aria-label="Search monitors, incidents, pages and actions"
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={at < 0 ? undefined : `${listId}-${at}`}
        placeholder="Search monitors, incidents, pages and actions"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={press}
        class={`${inputClass({})} h-10`}
      />
      <div ref={list} id={listId} role="listbox" aria-label="Results" class="mt-3 h-80 overflow-y-auto">
        {groups.map(({ title, entries: ofGroup }) => (
          <div key={title} role="group" aria-label={title} class="mb-2">
            <div class="px-2 py-1 text-xs font-medium text-soft" aria-hidden="true">
              {title}
            </div>
            {ofGroup.map((entry) => {
              const index = entries.indexOf(entry);
              return (
                <Option
                  key={entry.id}
                  id={`${listId}-${index}`}
                  entry={entry}
                  isChosen={index === at}
                  onRun={() => run(entry)}
                />
              );
            })}
          </div>
        ))}
      </div>
      <p role="status" class="text-sm text-soft">
        {entries.length === 0 ? 'No results' : <span class="sr-only">{count(entries.length, 'result')}</span>}
      </p>
    </Dialog>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

type OptionProps = { id: string; entry: PaletteEntry; isChosen: boolean; onRun: () => void };

function Option({ id, entry: { label, note, icon, status }, isChosen, onRun }: OptionProps) {
  return (
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      onClick={onRun}
      class={
        'flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-2 text-sm ' +
        `${isChosen ? 'bg-accent-tint' : 'hover:bg-hover'}`
      }
    >
      {status !== null && <StatusMark status={status} class="size-3" />}
      {icon !== null && <Icon name={icon} class="size-4 text-soft" />}
      <bdi class="clipped max-w-[60%] shrink-0">{label}</bdi>
      <bdi class="clipped min-w-0 text-xs text-soft">{note}</bdi>
    </div>
  );
}

/** The open incidents, and once they are loaded the newest of the others. */
function useIncidents(): readonly Incident[] {
  const recent = useLoad((signal) => api.get('/incidents', { query: { limit: RECENT_INCIDENTS }, signal }), []);
  const open = [...openIncidents.value.values()].toSorted((a, b) => b.started_at - a.started_at);
  const ids = new Set(open.map(({ id }) => id));
  return [...open, ...(recent.value.value?.incidents ?? []).filter(({ id }) => !ids.has(id))];
}

async function runEntry({ run }: PaletteEntry): Promise<void> {
  try {
    await run();
  } catch (failure) {
    toast(sentenceOf(failure), 'bad');
  }
}
