import { useComputed, type ReadonlySignal } from '@preact/signals';
import { count } from '../../parts/figures.ts';
import { pick, picked } from './picked.ts';

/** The checkbox of a monitor's row. The list handles its clicks, and a change draws no more than the box. */
export function RowBox({ id, name }: { id: string; name: string }) {
  const isOn = useComputed(() => picked.value.has(id));
  return <Box label={`Select ${name}`} isOn={isOn} />;
}

/** The checkbox of a folder: for all that is inside. */
export function FolderBox({ ids, name }: { ids: readonly string[]; name: string }) {
  const { isAll, isSome } = useShare(ids);
  return <Box label={`Select ${name}: ${count(ids.length, 'monitor')}`} isOn={isAll} isSome={isSome} />;
}

/** Selects all monitors that match the filters, drawn or not. */
export function AllBox({ ids }: { ids: readonly string[] }) {
  const { isAll, isSome } = useShare(ids);
  return (
    <Box
      label={`Select all that match: ${count(ids.length, 'monitor')}`}
      isOn={isAll}
      isSome={isSome}
      onChange={() => pick(ids, !isAll)}
    />
  );
}

/** Whether all of some monitors are selected, or only some of them. */
function useShare(ids: readonly string[]): { isAll: boolean; isSome: boolean } {
  const { value: all } = picked;
  let number = 0;
  if (all.size > 0) for (const id of ids) if (all.has(id)) number += 1;
  const isAll = number > 0 && number === ids.length;
  return { isAll, isSome: number > 0 && !isAll };
}

type BoxProps = { label: string; isOn: boolean | ReadonlySignal<boolean>; isSome?: boolean; onChange?: () => void };

/** A checkbox before a row, with room around it for fingers; the row after it is tinted while it is checked. */
function Box({ label, isOn, isSome = false, onChange }: BoxProps) {
  return (
    <label data-picked={isOn} class="row-box peer grid cursor-pointer select-none place-items-center print:hidden">
      <input
        type="checkbox"
        checked={isOn}
        indeterminate={isSome}
        aria-label={label}
        onChange={onChange}
        class="size-[1.0625rem] cursor-pointer accent-accent"
      />
    </label>
  );
}
