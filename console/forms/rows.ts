/** Leads the keyboard to what takes the place of a button that was pressed, within what has `data-secret`. */
export function focusInstead(button: HTMLElement): void {
  const container = button.closest('[data-secret]');
  requestAnimationFrame(() =>
    [...(container?.querySelectorAll<HTMLElement>('input:not([type="checkbox"]), textarea, button[data-first]') ?? [])]
      .at(-1)
      ?.focus(),
  );
}

/** Leads the keyboard into a row that is about to be added at the end of a list. */
export function focusLastRow(list: HTMLElement | null): void {
  // It is there after the next drawing.
  requestAnimationFrame(() => list?.querySelector<HTMLElement>(':scope > li:last-child :is(input, select)')?.focus());
}
