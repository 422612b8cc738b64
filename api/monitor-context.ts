import { randomBytes } from 'node:crypto';
import type { MonitorContext, MonitorDraft } from '../core/monitor-input/complete.ts';
import type { Monitor, MonitorSecrets, MonitorSettings } from '../core/monitor.ts';
import { PLAN_LIMITS } from '../core/plans.ts';
import { listAgents } from '../models/agents.ts';
import type { TokenHolder } from '../models/api-tokens.ts';
import type { Database } from '../models/database.ts';
import { listVendorMonitorIds } from '../models/monitors.ts';
import { isValidPattern } from './pattern.ts';
import { isId } from './request-context.ts';

/** Bytes of a heartbeat's token: whoever knows it can ping. */
const HEARTBEAT_TOKEN_BYTES = 18;

/** What the account around a monitor allows and knows, for the body that is about to be read. */
export async function loadMonitorContext(
  database: Database,
  { caller, monitorId, body }: { caller: TokenHolder; monitorId: string; body: { dependencies?: readonly string[] } },
): Promise<MonitorContext> {
  const { tenantId, plan } = caller;
  const named = (body.dependencies ?? []).filter(isId);
  const [agents, vendorMonitorIds] = await Promise.all([
    listAgents(database, { tenantId }),
    named.length === 0 ? [] : listVendorMonitorIds(database, tenantId, named),
  ]);
  return {
    monitorId,
    minIntervalSeconds: PLAN_LIMITS[plan].minIntervalSeconds,
    sharedAgentIds: agents.filter(({ kind }) => kind === 'first_party').map(({ id }) => id),
    ownAgentIds: agents.filter(({ kind }) => kind === 'tenant').map(({ id }) => id),
    vendorMonitorIds,
    newHeartbeatToken: randomBytes(HEARTBEAT_TOKEN_BYTES).toString('base64url'),
    isValidPattern,
  };
}

/** A stored monitor as the base of a PATCH. */
export function draftOf({ monitor, agentIds, secrets }: { monitor: Monitor; agentIds: string[]; secrets: MonitorSecrets }): MonitorDraft {
  const { no: _no, id: _id, tenantId: _tenant, enabled: _enabled, state: _state, stateSinceMs: _since, checksVersion: _version, createdAt: _created, updatedAt: _updated, ...settings } = monitor;
  return { settings: settings satisfies MonitorSettings, agentSources: agentIds, secrets };
}
