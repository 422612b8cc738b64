import type { WorkItem, WorkSecrets } from '../core/agent/wire.ts';
import { checkTargetOf } from '../core/agent/work-item.ts';
import type { CheckTarget } from '../core/monitor.ts';

/**
 * One monitor as this agent is to check it. Of `target` and `inability` one is null: an item that cannot be checked
 * here says why, in a sentence.
 */
export type Assignment = {
  monitorId: string;
  sourceKey: string;
  intervalSeconds: number;
  target: CheckTarget | null;
  inability: string | null;
  /** The same as long as the item and its secrets are: an item that is sealed anew is no other one. */
  identity: string;
};

/** The secrets of an item: opened, none there, or why they cannot be had. */
export type OpenedSecrets = { outcome: 'opened'; secrets: WorkSecrets } | { outcome: 'withheld'; inability: string };

const WITHHELD = {
  no_key: "The service has no key of this agent to seal the monitor's secrets to",
  other_key: "The monitor's secrets are sealed to another key than this agent has: it needs a new token",
} satisfies Record<NonNullable<WorkItem['secretsWithheld']>, string>;

/** Why the service kept the secrets of an item back; null where it did not. */
export function withheldBecause({ secretsWithheld }: WorkItem): string | null {
  return secretsWithheld === undefined
    ? null
    : (WITHHELD[secretsWithheld] ?? "The service keeps the monitor's secrets back");
}

/** Makes the assignment of an item with what became of its secrets. */
export function assign(item: WorkItem, opened: OpenedSecrets): Assignment {
  const { sealedSecrets: _sealed, ...plain } = item;
  const { monitorId, sourceKey, intervalSeconds } = item;
  const target = opened.outcome === 'opened' ? checkTargetOf(item, opened.secrets) : null;
  const inability = opened.outcome === 'withheld' ? opened.inability : unknownBecause(item, target);
  return { monitorId, sourceKey, intervalSeconds, target, inability, identity: JSON.stringify([plain, opened]) };
}

function unknownBecause({ type, method }: WorkItem, target: CheckTarget | null): string | null {
  return target === null
    ? 'This version of the agent cannot check monitors of type ' +
        `${type}${method === null ? '' : ` with method ${method}`}`
    : null;
}
