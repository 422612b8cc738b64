import type { CheckIn } from '../../core/agents/requests.ts';
import { findInability, type AgentCapability, type Inability, type Withholding } from '../../core/agents/wire.ts';
import type { AssignedMonitor } from '../../core/agents/work-item.ts';
import type { RecheckedSource } from '../../core/checks/recheck.ts';
import type { SourceState } from '../../core/incidents/source-state.ts';
import type { MonitorSecrets, MonitorType } from '../../core/monitors/monitor.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { secretsContext } from '../monitors/monitor-rows.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction } from '../sql.ts';

/** The agent that a token belongs to, as of its last check-in. */
export type TokenAgent = {
  no: number;
  id: string;
  tokenFingerprint: Buffer;
  tenantId: string;
  name: string;
  capabilities: AgentCapability[] | null;
  publicKey: string | null;
  secretsWithheld: Withholding | null;
};

/**
 * A monitor that an agent is a source of, without its settings. `checksVersion` increases with each change of those,
 * including secrets.
 */
export type AssignedWork = Omit<AssignedMonitor, 'settings'> & {
  monitorNo: number;
  type: MonitorType;
  checksVersion: number;
  givenVersion: number | null;
  /** Id of the key that its secrets are sealed with for this service; null if it has none. */
  secretsKeyId: string | null;
};

/**
 * A monitor's settings as of a version of its checks. `sealedSecrets` are sealed for this service; null if it has none.
 */
export type MeasuredSettings = {
  monitorNo: number;
  checksVersion: number;
  settings: AssignedMonitor['settings'];
  sealedSecrets: string | null;
};

/** A row of a monitor's settings. */
type SettingsRow = Omit<MeasuredSettings, 'settings'> & MeasuredSettings['settings'];

/** The version of a monitor's checks that an agent is given. */
export type GivenVersion = Pick<AssignedWork, 'monitorNo' | 'checksVersion'>;

/** An agent, with the token that it has called with. */
type Caller = Pick<TokenAgent, 'no' | 'tokenFingerprint'>;

/** Finds the customer's agent with a token; null if the token is unknown or revoked, or its agent was deleted. */
export async function findTokenAgent(database: Database, token: string): Promise<TokenAgent | null> {
  const { rows } = await database.pool.query<TokenAgent>({
    name: 'find-token-agent',
    text: `SELECT no, id, token_fingerprint AS "tokenFingerprint", tenant_id AS "tenantId", name, capabilities,
             public_key AS "publicKey", secrets_withheld AS "secretsWithheld" FROM agents
           WHERE token_fingerprint = $1 AND kind = 'tenant' AND revoked_at IS NULL`,
    values: [fingerprintOf(token)],
  });
  return rows[0] ?? null;
}

/**
 * Records a check-in: the agent's own data, that it is alive, and its key if it has none yet. Of two concurrent first
 * keys one is pinned. Returns the pinned key and the reason why no secrets may be sealed now (null = they may). Returns
 * null if the token is no longer the agent's: a request with an old one must not pin the next key.
 */
export async function checkInAgent(
  database: Database,
  { agent, checkIn, nowMs }: { agent: Caller; checkIn: CheckIn; nowMs: number },
): Promise<{ publicKey: string | null; withheld: Withholding | null } | null> {
  const { rows } = await database.pool.query<{ publicKey: string | null; withheld: Withholding | null }>({
    name: 'check-in-agent',
    text: `UPDATE agents SET capabilities = $2, version = $3, arch = $4, last_seen_at = greatest(last_seen_at, $5),
        public_key = coalesce(public_key, $6),
             secrets_withheld = CASE WHEN $6::text IS NULL THEN 'no_key'
               WHEN coalesce(public_key, $6) <> $6 THEN 'other_key' END
           WHERE no = $1 AND token_fingerprint = $7 AND revoked_at IS NULL
           RETURNING public_key AS "publicKey", secrets_withheld AS withheld`,
    values: [
      agent.no,
      JSON.stringify(checkIn.capabilities),
      checkIn.version,
      checkIn.arch,
      Math.floor(nowMs / 1000),
      checkIn.publicKey,
      agent.tokenFingerprint,
    ],
  });
  return rows[0] ?? null;
}

/**
 * Lists an agent's current work by the monitors' numbers: enabled monitors with a target, regardless of its
 * capabilities. Does not read settings, which may be megabytes (D-662).
 */
export async function listAssignedWork(database: Database, agentNo: number): Promise<AssignedWork[]> {
  const { rows } = await database.pool.query<AssignedWork>({
    name: 'list-assigned-work',
    text: `SELECT m.no AS "monitorNo", m.id AS "monitorId", m.type, m.checks_version AS "checksVersion",
             s.given_version AS "givenVersion", s.asked_at AS "askedAt", m.interval_seconds AS "intervalSeconds",
             split_part(left(m.sealed_secrets, 36), '.', 2) AS "secretsKeyId"
           FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no
           WHERE s.agent_no = $1 AND s.phase IS NOT NULL AND m.enabled ORDER BY m.no`,
    values: [agentNo],
  });
  return rows;
}

/** Returns the settings of those monitors, by number, that still have the agent as a source; none for an old token. */
export async function listMeasuredSettings(
  database: Database,
  { no, tokenFingerprint }: Caller,
  monitorNos: readonly number[],
): Promise<Map<number, MeasuredSettings>> {
  const { rows } = await database.pool.query<SettingsRow>({
    name: 'list-measured-settings',
    text: `SELECT m.no AS "monitorNo", m.checks_version AS "checksVersion", m.type, m.target,
             m.timeout_ms AS "timeoutMs", m.method, m.expected_status AS "expectedStatus", m.body_match AS "bodyMatch",
             m.follow_redirects AS "followRedirects", m.check_spec AS "checkSpec", m.sealed_secrets AS "sealedSecrets"
           FROM agents a JOIN monitor_sources s ON s.agent_no = a.no JOIN monitors m ON m.no = s.monitor_no
           WHERE a.no = $1 AND a.token_fingerprint = $3 AND a.revoked_at IS NULL AND s.monitor_no = ANY($2::int[])`,
    values: [no, monitorNos, tokenFingerprint],
  });
  return new Map(
    rows.map(({ monitorNo, checksVersion, sealedSecrets, ...settings }) => [
      monitorNo,
      { monitorNo, checksVersion, sealedSecrets, settings },
    ]),
  );
}

/**
 * Updates the version of their checks that an agent is given, and the time. Leave out monitors of which it has that
 * version already; of two concurrent responses the newer version is kept.
 */
export async function updateGivenVersions(
  database: Database,
  { agentNo, given, nowMs }: { agentNo: number; given: readonly GivenVersion[]; nowMs: number },
): Promise<void> {
  await inTransaction(database, async (run) => {
    // The sources are locked in the same order as by evaluators.
    await run(
      'SELECT 1 FROM monitor_sources WHERE agent_no = $1 AND monitor_no = ANY($2::int[]) ORDER BY monitor_no FOR ' +
        'NO KEY UPDATE',
      [agentNo, given.map((work) => work.monitorNo)],
    );
    await run(
      `UPDATE monitor_sources s SET given_version = k.version, given_at = $4, given_before = s.given_version
       FROM unnest($2::int[], $3::int[]) AS k (monitor_no, version)
       WHERE s.agent_no = $1 AND s.monitor_no = k.monitor_no AND coalesce(s.given_version, 0) < k.version`,
      [agentNo, given.map((work) => work.monitorNo), given.map((work) => work.checksVersion), nowMs],
    );
  });
}

/** Lists the sources of a monitor that cannot run it, as of their last check-in, by id. */
export async function listUnableSources(
  database: Database,
  monitorNo: number,
): Promise<{ id: string; reason: Inability }[]> {
  const { rows } = await database.pool.query<
    Pick<TokenAgent, 'id' | 'capabilities' | 'secretsWithheld'> & { type: MonitorType; hasSecrets: boolean }
  >({
    name: 'list-unable-sources',
    text: `SELECT a.id, a.capabilities, a.secrets_withheld AS "secretsWithheld", m.type,
             m.sealed_secrets IS NOT NULL AS "hasSecrets"
           FROM monitor_sources s JOIN agents a ON a.no = s.agent_no AND a.kind = 'tenant'
             JOIN monitors m ON m.no = s.monitor_no
           WHERE s.monitor_no = $1 ORDER BY a.id`,
    values: [monitorNo],
  });
  return rows.flatMap(({ id, ...source }) => {
    const reason = findInability(source, source);
    return reason === null ? [] : [{ id, reason }];
  });
}

/** Decrypts a monitor's secrets; null if their key is not in the ring. */
export function openWorkSecrets(
  database: Database,
  { monitorId, sealedSecrets }: { monitorId: string; sealedSecrets: string },
): MonitorSecrets | null {
  try {
    return JSON.parse(database.secrets.open(sealedSecrets, secretsContext(monitorId)));
  } catch {
    return null;
  }
}

/**
 * Seals a text to a public key (X25519, 32 bytes in base64) with libsodium's `crypto_box_seal`, in base64. Only the
 * holder of the private key can open it, and two boxes of the same text differ. Takes half a millisecond. Throws if the
 * key is not usable.
 */
export async function sealTo(publicKey: string, plain: string): Promise<string> {
  // The library is loaded when the first secret is sealed: most processes never seal any, and it takes 18 MB.
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return Buffer.from(sodium.crypto_box_seal(plain, Buffer.from(publicKey, 'base64'))).toString('base64');
}

/**
 * Reports whether 32 bytes are a usable key. Points of low order are not: such a box could be opened without the key.
 */
export async function isUsableKey(publicKey: string): Promise<boolean> {
  try {
    await sealTo(publicKey, '');
    return true;
  } catch {
    return false;
  }
}

/** A monitor that an agent may report on, with the fields for accepting its results. */
export type ReportedMonitor = {
  no: number;
  id: string;
  name: string;
  type: MonitorType;
  target: string;
  method: string | null;
  hasSecrets: boolean;
  intervalSeconds: number;
  timeoutMs: number;
  downAfterFailures: number;
  checksVersion: number;
  createdAtMs: number;
  /**
   * The version of its checks that the agent was given last, the time (Unix milliseconds), and the version before; null
   * = none.
   */
  givenVersion: number | null;
  givenAtMs: number | null;
  givenBefore: number | null;
  /**
   * The certificate that this agent saw last; `expiresAt` in Unix seconds, `observedAtMs` in Unix milliseconds, null =
   * unknown.
   */
  certificate: { target: string; expiresAt: number; observedAtMs: number | null } | null;
};

type MonitorRow = Omit<ReportedMonitor, 'certificate'> & {
  certificateTarget: string | null;
  certificateExpiresAt: number | null;
  certificateObservedAtMs: number | null;
};

/**
 * Returns those of the given monitors that the agent checks now, by id. Returns null if the token is no longer the
 * agent's.
 */
export async function listReportedMonitors(
  database: Database,
  { no, tokenFingerprint }: Caller,
  ids: readonly string[],
): Promise<Map<string, ReportedMonitor> | null> {
  const { rows } = await database.pool.query<MonitorRow | { no: null }>({
    name: 'list-reported-monitors',
    text: `SELECT m.no, m.id, m.name, m.type, m.target, m.method, m.sealed_secrets IS NOT NULL AS "hasSecrets",
             m.interval_seconds AS "intervalSeconds", m.timeout_ms AS "timeoutMs",
             m.down_after_failures AS "downAfterFailures", m.checks_version AS "checksVersion",
             m.created_at * 1000 AS "createdAtMs", s.given_version AS "givenVersion", s.given_at AS "givenAtMs",
             s.given_before AS "givenBefore", c.target AS "certificateTarget", c.expires_at AS "certificateExpiresAt",
             c.observed_at AS "certificateObservedAtMs"
           FROM agents a
           LEFT JOIN (monitors m JOIN monitor_sources s ON s.monitor_no = m.no AND s.agent_no = $1
               AND s.phase IS NOT NULL) ON m.id = ANY($2::text[]) AND m.enabled
           LEFT JOIN certificates c ON c.monitor_no = m.no AND c.agent_no = $1
           WHERE a.no = $1 AND a.token_fingerprint = $3 AND a.revoked_at IS NULL`,
    values: [no, ids, tokenFingerprint],
  });
  if (rows.length === 0) return null;
  return new Map(rows.flatMap((row) => (row.no === null ? [] : [[row.id, monitorOf(row)] as const])));
}

/** A window of a monitor's due times, in Unix milliseconds, the end excluded. */
export type MonitorWindow = { monitorNo: number; fromMs: number; toMs: number };

/**
 * Returns the due times of an agent's stored results in windows of its monitors, by the windows' keys. The statement is
 * not named, because its plan depends on partitions.
 */
export async function listStoredDueTimes(
  database: Pick<Database, 'pool'>,
  agentNo: number,
  windows: ReadonlyMap<string, MonitorWindow>,
): Promise<Map<string, number[]>> {
  const all = [...windows.values()];
  const { rows } = await database.pool.query<{ key: string; times: number[] | null }>(
    `SELECT k.key, (SELECT json_agg(r.due_at) FROM (
         SELECT due_at, monitor_no, agent_no FROM single_results WHERE due_at >= $6 AND due_at < $7
         UNION ALL
         SELECT due_at, monitor_no, agent_no FROM unpacked_results($6, $7)
           WHERE packed_at > k.from_ms - ${HOUR_MS} AND packed_at < k.to_ms
       ) r WHERE r.monitor_no = k.monitor_no AND r.agent_no = $1 AND r.due_at >= k.from_ms
         AND r.due_at < k.to_ms) AS times
     FROM unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[]) AS k (key, monitor_no, from_ms, to_ms)`,
    [
      agentNo,
      [...windows.keys()],
      all.map(({ monitorNo }) => monitorNo),
      all.map(({ fromMs }) => fromMs),
      all.map(({ toMs }) => toMs),
      Math.min(...all.map(({ fromMs }) => fromMs)),
      Math.max(...all.map(({ toMs }) => toMs)),
    ],
  );
  return new Map(rows.map(({ key, times }) => [key, times ?? []]));
}

/** Returns the state of an agent as a source of some monitors, by their numbers. */
export async function listRecheckedSources(
  database: Database,
  agentNo: number,
  monitorNos: readonly number[],
): Promise<Map<number, RecheckedSource>> {
  const { rows } = await database.pool.query<RecheckedSource['rule'] & { no: number; state: SourceState | null }>({
    name: 'list-rechecked-sources',
    text: `SELECT m.no, s.state, m.interval_seconds AS "intervalSeconds", m.down_after_failures AS "downAfterFailures",
             m.up_after_successes AS "upAfterSuccesses"
           FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE s.agent_no = $1
             AND s.monitor_no = ANY($2::int[])`,
    values: [agentNo, monitorNos],
  });
  return new Map(rows.map(({ no, state, ...rule }) => [no, { state, rule }]));
}

function monitorOf({
  certificateTarget: target,
  certificateExpiresAt: expiresAt,
  certificateObservedAtMs: observedAtMs,
  ...monitor
}: MonitorRow): ReportedMonitor {
  return {
    ...monitor,
    certificate: target === null || expiresAt === null ? null : { target, expiresAt, observedAtMs },
  };
}
