import type { Assertion } from '../../core/monitors/monitor.ts';

/** A random text of two letters in which patterns that count them match only at its end, after many partial matches. */
export const HOSTILE_BODY = `${withoutOrder(45_500)}${'a'.repeat(400)}c`;

/**
 * Patterns that take a fifth of a second or more each on `HOSTILE_BODY`. As all of them match, a check of them all
 * always exceeds the time limit, even on a busy machine.
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
