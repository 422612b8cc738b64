import { monotonicFactory } from 'ulid';

/** The prefixes of ids that customers and operators meet. */
export type IdPrefix = 'ten' | 'usr' | 'tok' | 'agt' | 'mon' | 'nch' | 'inc' | 'dlv' | 'rep' | 'req' | 'note';

/**
 * Makes ids: a prefix and a ULID in lower case. They sort by the moment of creation, within one process strictly, so that lists by
 * creation and id come in the order in which things were made.
 */
export function createIdSource(): (prefix: IdPrefix) => string {
  const next = monotonicFactory();
  return (prefix) => `${prefix}_${next().toLowerCase()}`;
}
