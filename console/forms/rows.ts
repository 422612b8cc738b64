/** Leads the keyboard into a row that is about to be added at the end of a list. */
export function focusLastRow(list: HTMLElement | null): void {
  // It is there after the next drawing.
  requestAnimationFrame(() => list?.querySelector<HTMLElement>(':scope > li:last-child :is(input, select)')?.focus());
}
