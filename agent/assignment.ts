import type { WorkItem, WorkSecrets } from '../core/agents/wire.ts';
import { checkTargetOf } from '../core/agents/work-item.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import type { KeyPair } from './key-pair.ts';

/** Turns the service's items into assignments, secrets opened. Secrets are in memory only. */
type WorkReader = (items: readonly WorkItem[]) => Promise<Assignment[]>;

const UNOPENED: OpenedSecrets = {
  outcome: 'withheld',
  inability: "The monitor's secrets cannot be decrypted with this agent's key",
};
const NO_SECRETS: OpenedSecrets = { outcome: 'opened', secrets: {} };

/** Makes the reader of an agent with its keys. A box that was opened once is not opened again. */
export function createWorkReader({ open }: KeyPair): WorkReader {
  let known = new Map<string, OpenedSecrets>();

  const openSecrets = async (item: WorkItem): Promise<OpenedSecrets> => {
    const inability = withheldBecause(item);
    if (inability !== null) return { outcome: 'withheld', inability };
    if (item.sealedSecrets === undefined) return NO_SECRETS;
    const already = known.get(item.sealedSecrets);
    if (already !== undefined) return already;
    const secrets = await open(item.sealedSecrets);
    return secrets === null ? UNOPENED : { outcome: 'opened', secrets };
  };

  return async (items) => {
    const boxes = new Map<string, OpenedSecrets>();
    const assignments: Assignment[] = [];
    for (const item of items) {
      const opened = await openSecrets(item);
      if (item.sealedSecrets !== undefined) boxes.set(item.sealedSecrets, opened);
      assignments.push(assign(item, opened));
    }
    known = boxes;
    return assignments;
  };
}

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
  no_key: "The service has no key of this agent to encrypt the monitor's secrets with",
  other_key: "The monitor's secrets are encrypted for a different key than this agent's: rotate the agent's token",
} satisfies Record<NonNullable<WorkItem['secretsWithheld']>, string>;

/** Why the service kept the secrets of an item back; null where it did not. */
function withheldBecause({ secretsWithheld }: WorkItem): string | null {
  return secretsWithheld === undefined
    ? null
    : (WITHHELD[secretsWithheld] ?? "The service withholds the monitor's secrets");
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
