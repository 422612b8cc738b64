import type { RefObject } from 'preact';
import { useShortcut } from '../shell/keys.tsx';

/**
 * Lets `j` and `k` walk along the rows of a list: elements with `data-row`, which take the focus, so that Enter opens
 * them. `what` is what a row is.
 */
export function useRowKeys(list: RefObject<HTMLElement | null>, what: string): void {
  const walk = (step: number) => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
    const index = rows.findIndex((row) => row === document.activeElement);
    const next =
      rows[index < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, index + step))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  useShortcut('j', `Next ${what}`, () => walk(1));
  useShortcut('k', `Previous ${what}`, () => walk(-1));
}
