import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Failure } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { rebase, type Rebased } from '../../client/concurrent-edits.ts';
import { monitors } from '../../client/live.ts';
import { useDraft } from '../../client/session-state.ts';
import { Icon } from '../../parts/icon.tsx';
import { draftOf, withoutSecrets, type Draft } from './draft.ts';
import { withFollowing, type Surroundings } from './problems.ts';
import { FIELD_LABELS } from './words.ts';

type Monitor = Schemas['MonitorDetail'];
/** Settings that the draft was made from, and their version; null for a new monitor. */
type Base = { draft: Draft; version: string | null; updatedAt: number | null };

/** Input of the form, and the settings that it was made from. */
type MonitorDraft = {
  draft: Signal<Draft>;
  base: ReadonlySignal<Base>;
  /** Changes by another person since the form was opened; null if there are none. */
  elsewhere: ReadonlySignal<Rebased<Draft> | null>;
  /**
   * Saves by `send`. Resolves to false if another person saved first: then the draft contains their changes, for
   * review.
   */
  save: (send: () => Promise<void>) => Promise<boolean>;
};

type Options = { original: Draft; monitor: Monitor | null; surroundings: Surroundings };

/** Returns the draft of a monitor. It outlives the session, and merges other people's saved changes. */
export function useMonitorDraft({ original, monitor, surroundings }: Options): MonitorDraft {
  const first = useMemo(() => baseOf(original, monitor), []);
  const base = useSignal<Base>(first);
  const elsewhere = useSignal<Rebased<Draft> | null>(null);
  const isSaving = useRef(false);
  const reads = useRef(0);
  const take = (rebased: Rebased<Draft>): Draft => {
    if (rebased.changed.length > 0) elsewhere.value = joined(elsewhere.peek(), rebased);
    return rebased.draft;
  };
  const draft = useDraft<Draft, { from: Draft; draft: Draft }>(`monitor ${monitor?.id ?? 'new'}`, first.draft, {
    store: (typed) => ({ from: base.peek().draft, draft: withoutSecrets(typed) }),
    restore: (kept) => take(rebase(kept.draft, { from: kept.from, to: first.draft })),
  });
  const adopt = async (id: string): Promise<void> => {
    const read = ++reads.current;
    const current = await api.get('/monitors/{id}', { path: { id } });
    // A later read, which may be answered first, is newer.
    if (read !== reads.current) return;
    const { draft: from } = base.peek();
    // The channels of a monitor are stored with the channels, and are not part of its settings.
    const to = { ...withFollowing(draftOf(current), surroundings), channels: from.channels };
    const rebased = rebase(draft.peek(), { from, to });
    base.value = baseOf(to, current);
    draft.value = take(rebased);
  };
  useEffect(() => {
    if (monitor === null) return undefined;
    let known: Schemas['Monitor'] | undefined;
    // The list is also loaded again when changes may have been missed.
    return monitors.subscribe((rows) => {
      const row = rows?.find(({ id }) => id === monitor.id);
      // This form's own save changes the row as well.
      if (row === undefined || row === known || isSaving.current) return;
      known = row;
      // Most changes are of the status alone.
      if (row.updated_at !== base.peek().updatedAt) void adopt(row.id).catch(() => undefined);
    });
  }, []);
  const save = async (send: () => Promise<void>): Promise<boolean> => {
    isSaving.current = true;
    const [{ draft: from }, typed] = [base.peek(), draft.peek()];
    try {
      await send();
    } catch (failure) {
      if (monitor === null || !(failure instanceof Failure) || failure.status !== 409) throw failure;
      await adopt(monitor.id);
      // The event of their change may have arrived before the refusal.
      if (rebase(typed, { from, to: base.peek().draft }).changed.length > 0) return false;
      // They changed something outside the form, such as a secret, or an earlier save was stored without an answer.
      await send();
    } finally {
      isSaving.current = false;
    }
    return true;
  };
  return { draft, base, elsewhere, save };
}

function baseOf(draft: Draft, monitor: Monitor | null): Base {
  return { draft, version: monitor?.settings_version ?? null, updatedAt: monitor?.updated_at ?? null };
}

/** Joins the changes by other people into one notice. */
function joined(before: Rebased<Draft> | null, { draft, changed, kept }: Rebased<Draft>): Rebased<Draft> {
  return {
    draft,
    changed: [...new Set([...(before?.changed ?? []), ...changed])],
    kept: [...new Set([...(before?.kept ?? []), ...kept])],
  };
}

type Notice = { elsewhere: Rebased<Draft> | null; isReplaced: (field: keyof Draft) => boolean };

/** A notice of changes by another person while the form was open. */
export function ChangedElsewhere({ elsewhere, isReplaced }: Notice) {
  if (elsewhere === null) return null;
  const { changed } = elsewhere;
  const kept = elsewhere.kept.filter(isReplaced);
  return (
    <div role="alert" data-elsewhere class="flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
      <Icon name="warning" class="mt-0.5 size-4" />
      <div>
        <p>Someone else changed this monitor: {listed(changed)}. Check the form before you save.</p>
        {kept.length > 0 && <p>Saving replaces their {listed(kept)} with yours.</p>}
      </div>
    </div>
  );
}

function listed(fields: readonly (keyof Draft)[]): string {
  return new Intl.ListFormat('en').format(fields.map((field) => FIELD_LABELS[field]));
}
