import { cleanText } from '../foreign-text.ts';
import { isSilent, voteOf, type SourceState } from '../incidents/source-state.ts';

/**
 * Whether a source counts in a decision (D-41), or why not. Its agent is offline; no result arrived lately; it has
 * reported, but too little to decide; its checks repeatedly came to no verdict.
 */
export type SourceStatus = 'votes' | 'offline' | 'silent' | 'undecided' | 'unable';

/** Returns the status of a source; `isRecent`: whether its newest result is recent enough. */
export function findSourceStatus(
  source: { online: boolean; state: SourceState | null },
  isRecent: boolean,
): SourceStatus {
  if (!source.online) return 'offline';
  if (!isRecent) return 'silent';
  if (voteOf(source.state) !== null) return 'votes';
  return isSilent(source.state) ? 'unable' : 'undecided';
}

const SAYINGS = {
  offline: { one: 'is offline', many: 'are offline' },
  silent: { one: 'is not reporting', many: 'are not reporting' },
  undecided: { one: 'has no verdict yet', many: 'have no verdict yet' },
  unable: { one: 'cannot run the check', many: 'cannot run the check' },
} as const satisfies Record<Exclude<SourceStatus, 'votes'>, { one: string; many: string }>;

const NOT_COUNTED = ['offline', 'silent', 'undecided', 'unable'] as const satisfies readonly (keyof typeof SAYINGS)[];

/** Longer lists are counted, and longer names cut: the reason is one sentence. */
const MAX_NAMED = 5;
const MAX_NAME = 60;

/**
 * Describes the sources without a vote, to end a sentence: `hanoi is offline, lima and oslo are not reporting`; empty
 * if all vote.
 */
export function describeNotCounted(sources: readonly { name: string; status: SourceStatus }[]): string {
  return NOT_COUNTED.flatMap((status) => {
    const names = sources.filter((source) => source.status === status).map(({ name }) => name);
    if (names.length === 0) return [];
    return [`${enumerate(names)} ${SAYINGS[status][names.length === 1 ? 'one' : 'many']}`];
  }).join(', ');
}

/**
 * Sorts and joins names as part of a sentence: `lima and oslo`. Long ones are cut, and beyond the limit the rest is
 * counted.
 */
export function enumerate(all: readonly string[]): string {
  const names = all.map((name) => cleanText(name, MAX_NAME)).toSorted();
  const parts = names.length > MAX_NAMED ? [...names.slice(0, MAX_NAMED), `${names.length - MAX_NAMED} more`] : names;
  return parts.length === 1 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
