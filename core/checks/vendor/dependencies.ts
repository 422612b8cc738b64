import { cleanText } from '../../foreign-text.ts';
import type { Change } from '../../incidents/change.ts';
import type { MonitorState } from '../../incidents/state.ts';
import { isBad } from '../verdict.ts';

/** A vendor monitor on which another monitor depends, with its present state. */
export type Dependency = { id: string; name: string; state: MonitorState };

/** One that is failing itself, as listed in `detail.dependencies` (D-46). */
export type FailingDependency = Dependency & { state: 'down' | 'degraded' };

/** Longer lists are counted, and longer names cut: the reason is one sentence. */
const MAX_NAMED = 3;
const MAX_NAME = 60;

/**
 * Returns the dependencies that may explain why a monitor went down. Vendors that are down, then degraded ones; none
 * for any other change (D-46).
 */
export function findCulprits(change: Pick<Change, 'to'>, dependencies: readonly Dependency[]): FailingDependency[] {
  if (change.to !== 'down') return [];
  const failing = dependencies.filter((one): one is FailingDependency => isBad(one.state));
  return failing.toSorted(
    (a, b) => Number(b.state === 'down') - Number(a.state === 'down') || a.name.localeCompare(b.name, 'en'),
  );
}

/**
 * Returns the change with a reason that names the culprits; nothing else changes, because nothing is suppressed (D-46).
 */
export function blame(change: Change, culprits: readonly FailingDependency[]): Change {
  if (culprits.length === 0) return change;
  const named = culprits.slice(0, MAX_NAMED).map(({ name, state }) => `${cleanText(name, MAX_NAME)} is ${state}`);
  const rest = culprits.length - named.length;
  const list = `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  return {
    ...change,
    reason: `${change.reason ?? `Reported ${change.to}`}. Possible cause: ${list}`,
  };
}
