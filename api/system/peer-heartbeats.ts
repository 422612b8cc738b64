import type { Author } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { readMonitorCreate } from '../../core/monitors/input/read.ts';
import { namePeerHeartbeat, peerHeartbeatTimes } from '../../core/system/canary.ts';
import type { Tenant } from '../../models/accounts/tenants.ts';
import type { Database } from '../../models/database.ts';
import { createMonitor, resumeMonitor } from '../../models/monitors/monitor-changes.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { listCanaryAddresses, openCanaryAddress } from '../../models/system/canary-addresses.ts';
import { findPeerHeartbeat, isNotifiedOf } from '../../models/system/peers.ts';
import { PING_PATH } from '../heartbeats/pings.ts';
import { newHeartbeatContext } from '../monitors/monitor-context.ts';

/**
 * What an invitation says: the account that is to watch, and until when (Unix seconds) it is good. The id of its
 * heartbeat is chosen with it, so that it is good for one.
 */
export type Invitation = { tenantId: string; monitorId: string; expiresAt: number };

/** The purpose that invitations are sealed for. */
const PURPOSE = 'watch:invitation';

/** How long an invitation is good, in seconds. */
export const INVITATION_SECONDS = 3600;

/** Seals an invitation, for whom the operator gives it. */
export function sealInvitation(invitation: Invitation, { secrets }: Pick<Database, 'secrets'>): string {
  return secrets.seal(JSON.stringify(invitation), PURPOSE);
}

/** Opens an invitation; null where we did not make it, or it has expired. */
export function openInvitation(
  sealed: string,
  { secrets }: Pick<Database, 'secrets'>,
  nowMs: number,
): Invitation | null {
  try {
    const invitation: Invitation = JSON.parse(secrets.open(sealed, PURPOSE));
    return invitation.expiresAt * 1000 > nowMs ? invitation : null;
  } catch {
    return null;
  }
}

/** What heartbeats of peers are made with. */
export type PeerParts = {
  database: Database;
  newId: (prefix: IdPrefix) => string;
  nowMs: number;
  author: (action: 'monitor.created' | 'monitor.resumed') => Author;
  config: { publicUrl: string; planCountLimits: boolean; cell?: string | null };
};

/** The heartbeat that watches a peer; `isNotified`: some channel is notified of it; `isNew`: it was made just now. */
export type KeptHeartbeat = {
  tenantId: string;
  monitorId: string;
  pingUrl: string;
  isNotified: boolean;
  isNew: boolean;
};

/** A peer that this account is to watch, by a heartbeat of this id. */
type NewPeer = { tenant: Tenant; peerUrl: string; everySeconds: number; id?: string };

/**
 * The heartbeat that watches a peer. Where the peer has one already it stays as it is, and is resumed; else it is made
 * in the account. Null beyond the plan's count of monitors.
 */
export async function keepPeerHeartbeat(
  { database, newId, nowMs, author, config }: PeerParts,
  { tenant, peerUrl, everySeconds, id = newId('mon') }: NewPeer,
): Promise<KeptHeartbeat | null> {
  const { monitorId } = (await findPeer(database, peerUrl)) ?? { monitorId: null };
  const known = monitorId === null ? null : await findPeerHeartbeat(database, monitorId);
  const urlOf = (token: string) => `${config.publicUrl}${PING_PATH}/${token}`;
  if (known !== null) {
    const { tenantId, token, enabled } = known;
    const key = { tenantId, id: known.id };
    if (!enabled) await resumeMonitor(database, { ...key, nowMs, author: author('monitor.resumed') });
    const isNotified = await isNotifiedOf(database, key.id);
    return { tenantId, monitorId: key.id, pingUrl: urlOf(token), isNotified, isNew: false };
  }
  const context = newHeartbeatContext({ monitorId: id, plan: tenant.plan, cell: config.cell ?? null, nowMs });
  const { minIntervalSeconds, monitors } = PLAN_LIMITS[tenant.plan];
  const times = peerHeartbeatTimes(everySeconds);
  const read = readMonitorCreate(
    {
      name: namePeerHeartbeat(peerUrl).slice(0, 255),
      type: 'heartbeat',
      ...times,
      interval_seconds: Math.max(times.interval_seconds, minIntervalSeconds),
    },
    context,
  );
  if (!read.ok) throw new Error(`The heartbeat of a peer is not accepted: ${JSON.stringify(read)}`);
  const { settings, secrets } = read.value;
  const heartbeat = {
    id,
    tenantId: tenant.id,
    settings,
    secrets,
    agentIds: [],
    nowMs,
    author: author('monitor.created'),
  };
  const made = await createMonitor(database, heartbeat, config.planCountLimits ? monitors : null);
  if (made === null) return null;
  return {
    tenantId: tenant.id,
    monitorId: id,
    pingUrl: urlOf(settings.checkSpec.heartbeat?.token ?? ''),
    isNotified: await isNotifiedOf(database, id),
    isNew: true,
  };
}

/** The address of a peer, by its base; null where it is none. */
export async function findPeer(database: Database, peerUrl: string) {
  return (
    (await listCanaryAddresses(database)).find(({ origin, name }) => origin === 'peer' && name === peerUrl) ?? null
  );
}

/** The token that a peer's address ends with, by which it knows us; null where there is none. */
export async function readPeerToken(database: Database, channelId: string): Promise<string | null> {
  return (await openCanaryAddress(database, channelId))?.split(`${PING_PATH}/`).at(-1) ?? null;
}
