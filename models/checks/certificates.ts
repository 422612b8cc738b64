import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/** A certificate as one source of a monitor saw it; `target` is what was checked, `expiresAt` in Unix seconds. */
export type ObservedCertificate = {
  monitorNo: number;
  agentNo: number;
  target: string;
  name: string;
  expiresAt: number;
};

/**
 * Stores certificates in place of what the same sources saw before, with one statement; those of deleted monitors and
 * agents are left out.
 */
export async function storeCertificates(database: Database, observed: readonly ObservedCertificate[]): Promise<void> {
  await runOn(database.pool)(
    `INSERT INTO certificates (monitor_no, agent_no, target, name, expires_at)
     SELECT k."monitorNo", k."agentNo", k.target, k.name, k."expiresAt"
     FROM json_to_recordset($1::json) AS k ("monitorNo" int, "agentNo" int, target text, name text, "expiresAt" bigint)
     JOIN monitors m ON m.no = k."monitorNo" JOIN agents a ON a.no = k."agentNo"
     ORDER BY 1, 2
     ON CONFLICT (monitor_no, agent_no) DO UPDATE
       SET target = excluded.target, name = excluded.name, expires_at = excluded.expires_at
       WHERE (certificates.target, certificates.name, certificates.expires_at) IS DISTINCT
         FROM (excluded.target, excluded.name, excluded.expires_at)`,
    [JSON.stringify(observed)],
  );
}
