import { batch, signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Monitor } from '../../client/api.ts';
import { canWrite } from '../../client/session-state.ts';
import { Button, IconButton, Spinner } from '../../parts/button.tsx';
import { count, formatNumber, joinWords } from '../../parts/figures.ts';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { useShortcut } from '../../shell/keys.tsx';
import { DeleteDialog, FailuresDialog, TagDialog } from './bulk-dialogs.tsx';
import { UNDO_MS, bulk, type Run } from './bulk-run.ts';
import { affected, clearPicked, pick, pickOnly, picked, stepsFor, type BulkAction, type Step } from './bulk-steps.ts';

/** Reports whether monitors are selected or the last bulk change is shown, to users who may change monitors. */
export function hasBulkBar(): boolean {
  return canWrite() && (picked.value.size > 0 || bulk.run !== null);
}

type BulkBarProps = {
  monitors: readonly Monitor[];
  /** Monitors that match the search and filters. */
  shown: readonly Monitor[];
};

/** The selection with its possible actions, and the action that is under way or was done last. */
export function BulkBar({ monitors, shown }: BulkBarProps) {
  return (
    <>
      {bulk.run !== null && <RunStrip key={bulk.run.sentAtMs} run={bulk.run} />}
      {picked.value.size > 0 && <SelectionBar monitors={monitors} shown={shown} />}
    </>
  );
}

const STRIP = 'rounded-lg border border-line-strong/60 bg-raised text-sm shadow-lg print:hidden';

/** An action that is under way with its progress, or its outcome with a button to undo it. */
function RunStrip({ run }: { run: Run }) {
  const { total, done, refusals, error, endedAtMs } = run;
  const box = useRef<HTMLDivElement>(null);
  const isListing = useSignal(false);
  const canUndo = useUndoWindow(run, () => isHeld(box.current) || isListing.peek()) && run.undo.length > 0;
  useFocusBack(box);
  useLayoutEffect(() => {
    // The pressed button is gone.
    if (document.activeElement?.matches('body, main') === true) box.current?.focus({ preventScroll: true });
  }, [endedAtMs]);
  useShortcut('z', 'Undo', canUndo ? () => bulk.undo() : null);
  const isOver = endedAtMs !== null;
  const isBad = error !== null || refusals.length > 0;
  const left = run.steps.flatMap(({ ids }) => ids);
  return (
    <section ref={box} tabIndex={-1} aria-label="Bulk change" class={`${STRIP} overflow-hidden`}>
      <div class="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 py-1 pl-3.5 pr-1">
        {isOver ? (
          <Icon name={isBad ? 'warning' : 'check'} class={`size-4 ${isBad ? 'text-down' : 'text-up'}`} />
        ) : (
          <Spinner />
        )}
        <p role="status" class="min-w-0 flex-1 basis-32 break-words">
          {isOver ? describeOutcome(run) : `${describeRunning(run, total)}…`}
        </p>
        {!isOver && (
          <span class="pr-2.5 text-soft">
            {formatNumber(done)} of {formatNumber(total)}
          </span>
        )}
        {refusals.length > 0 && isOver && (
          <Button size="small" onClick={() => (isListing.value = true)}>
            {`Show ${count(refusals.length, 'failure')}`}
          </Button>
        )}
        {error !== null && !run.isUndo && left.length > 0 && (
          <Button size="small" onClick={() => pickOnly(left)}>
            Select them again
          </Button>
        )}
        {canUndo && (
          <Button size="small" icon="undo" onClick={() => bulk.undo()}>
            {run.isUndo ? 'Try again' : 'Undo'}
          </Button>
        )}
        {isOver && <IconButton icon="close" label="Dismiss" onClick={() => bulk.dismiss()} />}
      </div>
      {!isOver && <Progress done={done} total={total} />}
      {isListing.value && <FailuresDialog refusals={refusals} onClose={() => (isListing.value = false)} />}
    </section>
  );
}

function describeOutcome(run: Run): string {
  const { total, done, refusals, error } = run;
  if (error === null) return describeDone(run, total, refusals.length);
  return done === 0 ? error : `${describeDone(run, total, total - done + refusals.length)}. ${error}`;
}

function Progress({ done, total }: { done: number; total: number }) {
  return (
    <div
      role="progressbar"
      aria-label="Progress"
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
      class="h-1 bg-sunken"
    >
      <div class="h-full bg-accent transition-[width]" style={{ width: `${(100 * done) / Math.max(1, total)}%` }} />
    </div>
  );
}

/**
 * Reports whether an action can still be undone: for ten seconds after its end, and longer while a button of it is in
 * use. After that it is dismissed, unless something failed.
 */
function useUndoWindow({ endedAtMs, error, refusals }: Run, isBusy: () => boolean): boolean {
  const isPast = useMemo(() => signal(false), [endedAtMs]);
  useEffect(() => {
    if (endedAtMs === null) return undefined;
    const timer = setInterval(() => {
      if (Date.now() - endedAtMs < UNDO_MS || isBusy()) return;
      clearInterval(timer);
      isPast.value = true;
      if (error === null && refusals.length === 0) bulk.dismiss();
    }, 250);
    return () => clearInterval(timer);
  }, [endedAtMs]);
  return endedAtMs !== null && !isPast.value;
}

/** Reports whether the pointer or the keyboard focus is on one of its buttons. */
function isHeld(box: HTMLElement | null): boolean {
  return (box?.querySelector('button:hover, button:focus') ?? null) !== null;
}

/** Returns the focus to the page when the focused element is removed. */
function useFocusBack(box: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const { current } = box;
    const main = current?.closest('main');
    return () => {
      if (current?.contains(document.activeElement) === true) main?.focus({ preventScroll: true });
    };
  }, []);
}

type Dialog = 'tag' | 'untag' | 'delete';

/** The number of selected monitors, and their possible actions. */
function SelectionBar({ monitors, shown }: BulkBarProps) {
  const { value: ids } = picked;
  const box = useRef<HTMLElement>(null);
  const dialog = useSignal<Dialog | null>(null);
  const chosen = useMemo(() => monitors.filter(({ id }) => ids.has(id)), [monitors, ids]);
  const matching = useMemo(() => new Set(shown.map(({ id }) => id)), [shown]);
  const hidden = chosen.filter(({ id }) => !matching.has(id)).length;
  const isAll = chosen.length - hidden === shown.length;
  useEffect(() => {
    // Also removes deleted monitors from the selection.
    if (chosen.length < ids.size) pickOnly(chosen.map(({ id }) => id));
  }, [chosen, ids]);
  useFocusBack(box);
  useShortcut('Escape', 'Clear the selection', clearPicked);
  const isBusy = bulk.run !== null && bulk.run.endedAtMs === null;
  const act = (action: BulkAction, tags: readonly string[] = []) =>
    batch(() => {
      bulk.start(stepsFor(action, chosen, tags));
      clearPicked();
    });
  const offer = (action: BulkAction) => (isBusy ? 0 : affected(action, chosen).length);
  const tagged = isBusy ? 0 : chosen.filter(({ tags }) => tags.length > 0).length;
  const all = isBusy ? 0 : chosen.length;
  const close = () => (dialog.value = null);
  return (
    <section
      ref={box}
      aria-label="Selection"
      class={`${STRIP} flex flex-wrap items-center justify-between gap-x-4 gap-y-1.5 py-1.5 pl-1 pr-2`}
    >
      <div class="flex min-w-0 flex-wrap items-center gap-x-2">
        <IconButton icon="close" label="Clear the selection" onClick={clearPicked} />
        <p role="status" class="font-medium">
          {count(chosen.length, 'monitor')} selected
          {hidden > 0 && <span class="font-normal text-soft">{`, ${formatNumber(hidden)} not in this list`}</span>}
        </p>
        {!isAll && (
          <Button size="small" tone="quiet" onClick={() => pick(matching, true)}>
            {`Select all ${formatNumber(shown.length)}${shown.length < monitors.length ? ' that match' : ''}`}
          </Button>
        )}
      </div>
      <div class="flex flex-wrap gap-1.5 pl-1.5" role="group" aria-label="Actions">
        <Act icon="pause" label="Pause" of={offer('pause')} chosen={all} onPress={() => act('pause')} />
        <Act icon="play" label="Resume" of={offer('resume')} chosen={all} onPress={() => act('resume')} />
        <Act icon="retry" label="Check" of={offer('check')} chosen={all} after=" now" onPress={() => act('check')} />
        <Act icon="tag" label="Add tags" to=" to" of={all} chosen={all} onPress={() => (dialog.value = 'tag')} />
        <Act
          icon="untag"
          label="Remove tags"
          to=" from"
          of={tagged}
          chosen={all}
          onPress={() => (dialog.value = 'untag')}
        />
        <Act
          icon="trash"
          label="Delete"
          of={all}
          chosen={all}
          tone="danger"
          onPress={() => (dialog.value = 'delete')}
        />
      </div>
      {(dialog.value === 'tag' || dialog.value === 'untag') && (
        <TagDialog key={dialog.value} action={dialog.value} monitors={chosen} onTags={act} onClose={close} />
      )}
      {dialog.value === 'delete' && (
        <DeleteDialog monitors={chosen} hidden={hidden} onDelete={() => act('delete')} onClose={close} />
      )}
    </section>
  );
}

type ActProps = {
  icon: IconName;
  label: string;
  /** Number of monitors that it changes, and number of selected ones. */
  of: number;
  chosen: number;
  /** Further words of the whole label: `Add tags to 2 monitors`, `Check 2 monitors now`. */
  to?: string;
  after?: string;
  tone?: 'plain' | 'danger';
  onPress: () => void;
};

/** A button that names the number of monitors that it changes. */
function Act({ icon, label, of: number, chosen, to = '', after = '', tone = 'plain', onPress }: ActProps) {
  const whole = `${label}${to} ${count(number, 'monitor')}${after}`;
  return (
    <Button
      size="small"
      icon={icon}
      tone={tone}
      disabled={number === 0}
      aria-label={whole}
      title={number === 0 ? `${label}: none of them` : whole}
      onClick={onPress}
    >
      <span class="max-md:sr-only">
        {label}
        {number > 0 && number < chosen && ` ${formatNumber(number)}`}
      </span>
    </Button>
  );
}

type Described = Pick<Step, 'action' | 'tags'>;

/** Describes an action that is under way: `Pausing 37 monitors`. */
function describeRunning({ action, tags }: Described, total: number): string {
  const monitors = count(total, 'monitor');
  switch (action) {
    case 'pause':
      return `Pausing ${monitors}`;
    case 'resume':
      return `Resuming ${monitors}`;
    case 'check':
      return `Starting checks of ${monitors}`;
    case 'tag':
      return `Adding ${joinWords(tags)} to ${monitors}`;
    case 'untag':
      return `Removing ${joinWords(tags)} from ${monitors}`;
    case 'delete':
      return `Deleting ${monitors}`;
  }
}

/** Describes the outcome of an action: `37 monitors paused`, or `34 of 37 monitors paused`. */
function describeDone({ action, tags }: Described, total: number, failed: number): string {
  const monitors = failed === 0 ? count(total, 'monitor') : `${total - failed} of ${count(total, 'monitor')}`;
  switch (action) {
    case 'pause':
      return `${monitors} paused`;
    case 'resume':
      return `${monitors} resumed`;
    case 'check':
      return `Checks of ${monitors} started`;
    case 'tag':
      return `${joinWords(tags)} added to ${monitors}`;
    case 'untag':
      return `${joinWords(tags)} removed from ${monitors}`;
    case 'delete':
      return `${monitors} deleted`;
  }
}
