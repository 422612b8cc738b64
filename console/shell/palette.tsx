import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { sentenceOf } from '../client/failure.ts';
import { toast } from '../parts/toast.tsx';
import { useShortcut } from './keys.tsx';

const isOpen = signal(false);

/** The dialog, which is loaded when it is first opened; null until then. */
const dialog = signal<ComponentType<{ onClose: () => void }> | null>(null);

/** The command palette, which opens with Ctrl-K or Cmd-K on every page, also from within a field. */
export function CommandPalette() {
  useShortcut('Ctrl+K', 'Command palette', openPalette);
  const { value: Shown } = dialog;
  return isOpen.value && Shown !== null ? <Shown onClose={() => (isOpen.value = false)} /> : null;
}

/** Opens the command palette. */
export function openPalette(): void {
  isOpen.value = true;
  if (dialog.peek() !== null) return;
  import('./palette-dialog.tsx').then(
    ({ PaletteDialog }) => (dialog.value = PaletteDialog),
    (failure: unknown) => {
      isOpen.value = false;
      toast(sentenceOf(failure), 'bad');
    },
  );
}
