import type { SecretBox } from '../secrets/secret-box.ts';

/** What sessions of ours are called at PostgreSQL, in front of the marks of their keys. */
export const SESSION_NAME = 'spotcheck';

const MARK_LENGTH = 6;
/** PostgreSQL cuts names off after 63 bytes. */
const MOST_MARKS = 7;

/**
 * The name that a process gives its sessions at PostgreSQL, such as `spotcheck:mK3_x9,Q-71ba`. Behind the colon is a
 * mark for each of the first seven keys of its ring, in order. A mark is derived from the key and says nothing of it;
 * it lets a change of keys see what others run on.
 */
export function sessionNameOf(secrets: SecretBox): string {
  return `${SESSION_NAME}:${marksOf(secrets).join(',')}`;
}

/**
 * Compares the key ring of a session of that name with ours. It may lack the key that we seal with, or have it and seal
 * with another.
 */
export function compareRing(sessionName: string, secrets: SecretBox): 'same' | 'lacks_key' | 'seals_with_other' {
  const [current] = marksOf(secrets);
  const marks = sessionName.slice(SESSION_NAME.length + 1).split(',');
  if (marks[0] === current) return 'same';
  return marks.includes(current) ? 'seals_with_other' : 'lacks_key';
}

function marksOf(secrets: SecretBox): readonly [string, ...string[]] {
  const [current, ...others] = secrets.derive('session-mark');
  return [markOf(current), ...others.slice(0, MOST_MARKS - 1).map(markOf)];
}

function markOf(derived: string): string {
  return derived.slice(0, MARK_LENGTH);
}
