import type { Assertion } from '../../core/monitors/monitor.ts';

/**
 * A text of two letters in no order, in which patterns that count them stay possible for long and are found at its end
 * only.
 */
export const HOSTILE_BODY = `${withoutOrder(45_500)}${'a'.repeat(400)}c`;

/**
 * Patterns that take a fifth of a second or more each on `HOSTILE_BODY`. Since each is found, a check of them all takes
 * longer than one is ever let run, on a busy machine too.
 */
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
