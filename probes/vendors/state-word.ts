import { z } from 'zod';
import type { VendorState } from '../../core/checks/vendor/snapshot.ts';

/**
 * Reads a page's own word for a state into the common one. A word that is not in the table does not fit: what it means
 * is not for us to guess.
 */
export function stateWord(states: Readonly<Record<string, VendorState>>) {
  return z.string().transform((word, context): VendorState => {
    const state = Object.hasOwn(states, word) ? states[word] : undefined;
    if (state !== undefined) return state;
    context.addIssue({ code: 'custom', message: 'is no known state' });
    return z.NEVER;
  });
}
