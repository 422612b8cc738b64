import { setImmediate } from 'node:timers/promises';
import type { Withholding } from '../../core/agent/capability.ts';
import type { WorkItem } from '../../core/agent/wire.ts';
import { besideSecrets, workItemOf, workSecretsOf } from '../../core/agent/work-item.ts';
import type { MonitorSecrets } from '../../core/monitor.ts';
import type { AssignedWork } from '../../models/agent-work.ts';
import { sealTo } from '../../models/sealed-box.ts';

/** To whom work is given: the key that its secrets are sealed to, or why they are withheld. */
export type Recipient = { agentId: string; publicKey: string | null; withheld: Withholding | null };

/** Opens a monitor's secrets; null where they cannot be. */
type Open = (sealed: { monitorId: string; sealedSecrets: string }) => MonitorSecrets | null;

/**
 * Work as its agent is notified of it, and the ids of the monitors that had to be left out because their secrets do not
 * open.
 */
export async function makeItems(
  assigned: readonly AssignedWork[],
  recipient: Recipient,
  open: Open,
): Promise<{ items: WorkItem[]; leftOut: string[] }> {
  const items: WorkItem[] = [];
  const leftOut: string[] = [];
  for (const work of assigned) {
    const item = await makeItem(work, recipient, open);
    if (item === null) leftOut.push(work.monitorId);
    else items.push(item);
  }
  return { items, leftOut };
}

async function makeItem(
  work: AssignedWork,
  { agentId, publicKey, withheld }: Recipient,
  open: Open,
): Promise<WorkItem | null> {
  const { monitorId, sealedSecrets, settings } = work;
  const item = workItemOf(work, agentId);
  if (item === null || sealedSecrets === null) return item;
  if (withheld !== null || publicKey === null) return { ...withoutAuth(item), secretsWithheld: withheld ?? 'no_key' };
  const opened = open({ monitorId, sealedSecrets });
  const secrets = opened && workSecretsOf(opened, settings.checkSpec.transport);
  if (secrets === null) return null;
  // Sealing hundreds takes a while, and others are waiting.
  await setImmediate();
  return {
    ...besideSecrets(item, secrets, settings.checkSpec.transport),
    sealedSecrets: await sealTo(publicKey, JSON.stringify(secrets)),
  };
}

/** The item of an agent that gets no secrets: one that knew of an `auth` might send an empty one (D-69). */
function withoutAuth({ checkSpec: { request, ...checkSpec }, ...item }: WorkItem): WorkItem {
  const { auth: _auth, ...rest } = request ?? {};
  return { ...item, checkSpec: { ...checkSpec, ...(request && { request: rest }) } };
}
