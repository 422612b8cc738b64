import { createHash, randomBytes } from 'node:crypto';
import { CANARY, MAX_ADDRESSES } from '../../core/system/canary.ts';
import type { Authored } from '../accounts/audit-log.ts';
import { createChannelBy, deleteChannel, type NewChannel } from '../alerts/channels.ts';
import { listRoutes } from '../alerts/routes.ts';
import { findWebhook, openWebhook } from '../alerts/webhook-secrets.ts';
import type { Database } from '../database.ts';
import type { IdPrefix } from '../secrets/ids.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn } from '../sql.ts';

/** Origin of an address: an environment variable, a command with this URL, or another installation, by its base URL. */
type AddressOrigin = 'environment' | 'command' | 'peer';

/**
 * An address that is pinged. `name` distinguishes it from others of its origin and contains no secret; `host` is that
 * of its URL. A peer has the local monitor that watches it in turn. Unix milliseconds; null = never.
 */
export type CanaryAddress = {
  channelId: string;
  origin: AddressOrigin;
  name: string;
  monitorId: string | null;
  host: string;
  pingedAtMs: number | null;
  failedAtMs: number | null;
  error: string | null;
};

/** Format of a channel's name: origin, monitor and name. */
const NAME = /^(environment|command|peer) (?:(mon_\w+) )?(.*)$/s;

/** An address to store; a peer's has the monitor that watches the peer. */
type NewAddress = { origin: AddressOrigin; name: string; monitorId?: string; url: string };

type Time = { newId: (prefix: IdPrefix) => string; nowMs: number };

/**
 * Returns the name of an address that is not a peer's: the host, and a hash that distinguishes it from others there.
 */
export function nameAddress(url: string): string {
  return `${new URL(url).host}#${createHash('sha256').update(url).digest('hex').slice(0, 8)}`;
}

/**
 * Lists the addresses, those of peers by their base URL, in the order in which they were added. The newest ping is the
 * one that was written last: after a clock was set back, older ones have later times.
 */
export async function listCanaryAddresses(database: Pick<Database, 'pool'>): Promise<CanaryAddress[]> {
  const rows = await runOn(database.pool)<Omit<CanaryAddress, 'origin' | 'monitorId'>>(
    `SELECT c.id AS "channelId", c.name, c.url_host AS host, d.finished_at AS "pingedAtMs",
       a.started_at AS "failedAtMs", a.error
     FROM channels c
     LEFT JOIN LATERAL (SELECT finished_at FROM deliveries WHERE channel_id = c.id AND outcome = 'delivered'
       ORDER BY no DESC LIMIT 1) d ON true
     LEFT JOIN LATERAL (SELECT t.started_at, t.error FROM deliveries f JOIN delivery_attempts t ON t.delivery_id = f.id
       WHERE f.channel_id = c.id AND f.outcome = 'failed' ORDER BY f.no DESC LIMIT 1) a ON true
     WHERE c.tenant_id = $1 ORDER BY c.created_at, c.id`,
    [CANARY.tenantId],
  );
  return rows.map(({ name, ...row }) => {
    const [, origin = 'command', monitorId = null, rest = name] = NAME.exec(name) ?? [];
    return { ...row, origin: origin as AddressOrigin, name: rest, monitorId };
  });
}

/**
 * Stores an address under a name, in place of the origin's previous one of that name; false if there are
 * `MAX_ADDRESSES` others. The previous one stays if that fails.
 */
export async function storeCanaryAddress(
  database: Database,
  { origin, name, monitorId, url }: NewAddress,
  { newId, nowMs }: Time,
): Promise<boolean> {
  const now = Math.floor(nowMs / 1000);
  // The tenant's name is never shown, and must not be one that a customer wants.
  await runOn(database.pool)(
    `INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $2, 'pro', $3) ON CONFLICT (id) DO NOTHING`,
    [CANARY.tenantId, `${CANARY.tenantId} ${randomBytes(16).toString('hex')}`, now],
  );
  const addresses = await listCanaryAddresses(database);
  const before = addresses.find((each) => each.origin === origin && each.name === name);
  if (before === undefined && addresses.length >= MAX_ADDRESSES) return false;
  if (before !== undefined) {
    const isSame = before.monitorId === (monitorId ?? null);
    if (isSame && (await openCanaryAddress(database, before.channelId)) === url) return true;
  }
  const channel: NewChannel & Authored = {
    id: newId('nch'),
    tenantId: CANARY.tenantId,
    type: 'webhook',
    name: [origin, ...(monitorId === undefined ? [] : [monitorId]), name].join(' '),
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: { url, signingSecret: randomBytes(24).toString('base64url') },
    nowMs,
    author: null,
  };
  await inTransaction(database, async (run, client) => {
    await createChannelBy({ database, run, client }, channel);
    if (before !== undefined) await run('DELETE FROM channels WHERE id = $1', [before.channelId]);
  });
  return true;
}

/** Opens the URL of an address; null if it was deleted or no key of the ring opens it. */
export async function openCanaryAddress(database: Database, channelId: string): Promise<string | null> {
  const sealed = await findWebhook(database, { tenantId: CANARY.tenantId, id: channelId }, 0);
  try {
    return sealed && openWebhook(database, sealed).url;
  } catch {
    return null;
  }
}

/** Deletes an address; false if it is already gone. */
export async function deleteCanaryAddress(database: Database, channelId: string): Promise<boolean> {
  return await deleteChannel(database, { tenantId: CANARY.tenantId, id: channelId, author: null });
}

/** Replaces the addresses of the environment variable with its current ones; false if there were too many. */
export async function replaceEnvironmentAddresses(
  database: Database,
  urls: readonly string[],
  time: Time,
): Promise<boolean> {
  const wanted = new Map(urls.map((url) => [nameAddress(url), url]));
  const known = (await listCanaryAddresses(database)).filter(({ origin }) => origin === 'environment');
  for (const { name, channelId } of known) if (!wanted.has(name)) await deleteCanaryAddress(database, channelId);
  let fits = true;
  for (const [name, url] of wanted)
    if (!known.some((each) => each.name === name))
      fits = (await storeCanaryAddress(database, { origin: 'environment', name, url }, time)) && fits;
  return fits;
}

/** A heartbeat that watches another installation. */
type PeerHeartbeat = { tenantId: string; id: string; token: string; enabled: boolean };

/** Finds the heartbeat with this id; null if it was deleted. */
export async function findPeerHeartbeat(database: Pick<Database, 'pool'>, id: string): Promise<PeerHeartbeat | null> {
  const [found] = await runOn(database.pool)<PeerHeartbeat>(
    `SELECT tenant_id AS "tenantId", id, check_spec -> 'heartbeat' ->> 'token' AS token, enabled FROM monitors
     WHERE id = $1 AND type = 'heartbeat'`,
    [id],
  );
  return found ?? null;
}

/** Reports whether a token belongs to a heartbeat. */
export async function isTokenOf(database: Pick<Database, 'pool'>, id: string, token: string): Promise<boolean> {
  const rows = await runOn(database.pool)(
    `SELECT FROM heartbeats h JOIN monitors m ON m.no = h.monitor_no WHERE m.id = $1 AND h.token_fingerprint = $2`,
    [id, fingerprintOf(token)],
  );
  return rows.length > 0;
}

/** Reports whether any channel is notified of a monitor. */
export async function isNotifiedOf(database: Pick<Database, 'pool'>, id: string): Promise<boolean> {
  return (await listRoutes(runOn(database.pool), [id])).length > 0;
}
