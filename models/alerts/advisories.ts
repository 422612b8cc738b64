import type { AdvisorySubject } from '../../core/checks/domain/advisory.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import { MAX_CERTIFICATE_NAME } from '../checks/checks.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/** A monitor with expiry warnings enabled. */
export type WarnedMonitor = Pick<Monitor, 'no' | 'id' | 'tenantId' | 'name' | 'type' | 'target'> & { warnDays: number };

/**
 * A certificate of a warned monitor; `expiresAt` is in Unix seconds. `isCurrent`: a source has seen it recently, and
 * since it expired.
 */
type WarnedCertificate = { monitorNo: number; name: string; expiresAt: number; isCurrent: boolean };

/** One advisory: `threshold` in days left, `expiresAt` in Unix seconds. */
export type Advisory = {
  monitorNo: number;
  subject: AdvisorySubject;
  name: string;
  expiresAt: number;
  threshold: number;
};

/**
 * Maximum difference between dates of the same expiry, in seconds. Sources differ in the time of day, and no renewal is
 * so short.
 */
const SAME_EXPIRY_SECONDS = 2 * DAY_SECONDS;

/** An advisory that was sent, at `saidAtMs` (Unix milliseconds). */
export type SaidAdvisory = Omit<Advisory, 'monitorNo'> & { saidAtMs: number };

/** Reports whether two dates (Unix seconds) are the same expiry. */
export function isSameExpiry(one: number, other: number): boolean {
  return Math.abs(one - other) <= SAME_EXPIRY_SECONDS;
}

/** Lists the sent advisories of a monitor, the newest first. */
export async function listSaidAdvisories(database: Pick<Database, 'pool'>, monitorNo: number): Promise<SaidAdvisory[]> {
  return await runOn(database.pool)(
    'SELECT subject, name, expires_at AS "expiresAt", threshold, said_at AS "saidAtMs" FROM advisories WHERE ' +
      'monitor_no = $1 ORDER BY said_at DESC, threshold',
    [monitorNo],
  );
}

/**
 * Lists the enabled http and domain monitors with warning days, by number; `afterNo` is the last one of the previous
 * page.
 */
export async function listWarnedMonitors(
  database: Database,
  { afterNo, limit }: { afterNo: number; limit: number },
): Promise<WarnedMonitor[]> {
  return await runOn(database.pool)<WarnedMonitor>(
    `SELECT no, id, tenant_id AS "tenantId", name, type, target,
            (check_spec #>> '{domain,warnDays}')::int AS "warnDays"
     FROM monitors
     WHERE enabled AND check_spec ? 'domain' AND no > $1 AND type IN ('http', 'domain') AND target <> ''
       AND (check_spec #>> '{domain,warnDays}')::int >= 1
     ORDER BY no LIMIT $2`,
    [afterNo, limit],
  );
}

/**
 * Lists the certificates that the current sources of these monitors last saw at the current target, the earliest expiry
 * of each monitor. A source without a new observation for an interval and a day counts only if all others lack one: it
 * may be away, and the certificate renewed.
 */
export async function listCertificates(
  database: Database,
  monitorNos: readonly number[],
  nowMs: number,
): Promise<WarnedCertificate[]> {
  return await runOn(database.pool)<WarnedCertificate>(
    `SELECT DISTINCT ON (c.monitor_no) c.monitor_no AS "monitorNo",
       left(c.name, ${MAX_CERTIFICATE_NAME}) AS name, c.expires_at AS "expiresAt", f."isCurrent"
     FROM certificates c
     JOIN monitors m ON m.no = c.monitor_no AND m.target = c.target
     JOIN monitor_sources s ON s.monitor_no = c.monitor_no AND s.agent_no = c.agent_no,
     LATERAL (SELECT coalesce(c.observed_at > $2::bigint - (m.interval_seconds + ${DAY_SECONDS}) * 1000::bigint
       AND (c.expires_at * 1000 > $2 OR c.observed_at >= c.expires_at * 1000), false) AS "isCurrent") f
     WHERE c.monitor_no = ANY($1::int[])
     ORDER BY c.monitor_no, f."isCurrent" DESC, c.expires_at, c.name`,
    [monitorNos, nowMs],
  );
}

/**
 * Records advisories as sent and returns the new ones: those without a previous one of this or a lower threshold for
 * the same expiry. Monitors that are paused or deleted by now get none. Run it in the transaction that writes the
 * deliveries.
 */
export async function recordAdvisories(run: Run, advisories: readonly Advisory[], nowMs: number): Promise<Advisory[]> {
  if (advisories.length === 0) return [];
  return await run<Advisory>(
    `WITH wanted AS (
       SELECT k.* FROM json_to_recordset($1::json) AS k ("monitorNo" int, subject text, name text, "expiresAt" bigint,
         threshold smallint)
     ), watched AS (
       SELECT no FROM monitors WHERE no IN (SELECT "monitorNo" FROM wanted) AND enabled ORDER BY no FOR KEY SHARE
     )
     INSERT INTO advisories (monitor_no, subject, name, expires_at, threshold, said_at)
     SELECT w."monitorNo", w.subject, w.name, w."expiresAt", w.threshold, $2
     FROM wanted w JOIN watched ON watched.no = w."monitorNo"
     WHERE NOT EXISTS (
       SELECT 1 FROM advisories a
       WHERE a.monitor_no = w."monitorNo" AND a.subject = w.subject
         AND left(a.name, ${MAX_CERTIFICATE_NAME}) = w.name
         AND abs(a.expires_at - w."expiresAt") <= ${SAME_EXPIRY_SECONDS} AND a.threshold <= w.threshold)
     ON CONFLICT DO NOTHING
     RETURNING monitor_no AS "monitorNo", subject, name, expires_at AS "expiresAt", threshold`,
    [JSON.stringify(advisories), nowMs],
  );
}
