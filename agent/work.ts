import type { WorkItem } from '../core/agent/wire.ts';
import { assign, withheldBecause, type Assignment, type OpenedSecrets } from './assignment.ts';
import type { KeyPair } from './key-pair.ts';

/** Turns the service's items into assignments, secrets opened. Secrets are in memory only. */
export type WorkReader = (items: readonly WorkItem[]) => Promise<Assignment[]>;

const UNOPENED: OpenedSecrets = {
  outcome: 'withheld',
  inability: "The monitor's secrets do not open with this agent's key",
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
