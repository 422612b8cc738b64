import type { VendorState } from '../../../core/checks/vendor/snapshot.ts';

const RESOLVED = /^\s*\[resolved\]|operating normally/i;
const OUTAGE = /\b(?:service disruption|outage|unavailab\w*|disrupted)\b/i;

/** True for the title of an event that is over. */
export function isResolved(title: string): boolean {
  return RESOLVED.test(title);
}

/** How bad an open event is, by the words of its title. */
export function stateOfText(title: string): VendorState {
  return OUTAGE.test(title) ? 'major' : 'degraded';
}
