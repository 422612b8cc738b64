import { seeded } from '../../test/helpers/seeded.ts';

/** Random draws that a seed determines. */
export type Draws = {
  /** Draws a whole number from `low` to `high`, both included. */
  between: (low: number, high: number) => number;
  pick: <Item>(items: readonly Item[]) => Item;
  isHit: (probability: number) => boolean;
};

/** Creates the draws of a seed (any whole number). */
export function drawsOf(seed: number): Draws {
  // Neighboring seeds must have nothing in common.
  const fraction = seeded(Math.imul(seed + 1, 0x9e_37_79_b1));
  const between = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1));
  return {
    between,
    pick<Item>(items: readonly Item[]) {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error('there is nothing to pick from');
      return item;
    },
    isHit: (probability) => fraction() < probability,
  };
}
