import { listRoutes } from '../alerts/routes.ts';
import type { Database } from '../database.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { runOn } from '../sql.ts';

/** A heartbeat that watches another installation. */
export type PeerHeartbeat = { tenantId: string; id: string; token: string; enabled: boolean };

/** The heartbeat of that id; null where it is gone. */
export async function findPeerHeartbeat(database: Pick<Database, 'pool'>, id: string): Promise<PeerHeartbeat | null> {
  const [found] = await runOn(database.pool)<PeerHeartbeat>(
    `SELECT tenant_id AS "tenantId", id, check_spec -> 'heartbeat' ->> 'token' AS token, enabled FROM monitors
     WHERE id = $1 AND type = 'heartbeat'`,
    [id],
  );
  return found ?? null;
}

/** Whether a token is that of a heartbeat. */
export async function isTokenOf(database: Pick<Database, 'pool'>, id: string, token: string): Promise<boolean> {
  const rows = await runOn(database.pool)(
    `SELECT FROM heartbeats h JOIN monitors m ON m.no = h.monitor_no WHERE m.id = $1 AND h.token_fingerprint = $2`,
    [id, fingerprintOf(token)],
  );
  return rows.length > 0;
}

/** Whether any channel is notified of a monitor. */
export async function isNotifiedOf(database: Pick<Database, 'pool'>, id: string): Promise<boolean> {
  return (await listRoutes(runOn(database.pool), [id])).length > 0;
}
