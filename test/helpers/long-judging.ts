import type { Assertion } from '../../core/monitors/monitor.ts';

/** A text of two letters in no order, in which patterns that count them stay possible for long and are never found. */
export const HOSTILE_BODY = withoutOrder(54_000);

/** Patterns that take a second each on `HOSTILE_BODY`. */
export const HOSTILE_ASSERTIONS: Assertion[] = Array.from({ length: 50 }, (_, index) => ({
  source: 'text_body',
  op: 'matches',
  value: `a[ab]{${300 + index}}[cd]`,
}));

function withoutOrder(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state & 0x10000 ? 'a' : 'b';
  }).join('');
}
