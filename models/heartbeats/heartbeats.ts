import {
  arrangeHeartbeat,
  mayChangeState,
  nextExpectedAt,
  type Heartbeat,
  type HeartbeatSettings,
  type Ping,
} from '../../core/heartbeats/deadlines.ts';
import {
  admitPing,
  firstLineOf,
  type AdmittedPing,
  type PingMarks,
  type PingRow,
  type WaitingObservations,
} from '../../core/heartbeats/pings.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, sqlStateOf, type Run } from '../sql.ts';
import { createPartitions, NO_PARTITION } from '../system/partitions.ts';
import { runScheduleOf, scheduleOf, type ScheduleColumns } from './schedule.ts';

/** A ping and its token. */
export type TokenPing = { token: string; ping: Ping };

/** The outcome of a ping; a `taken` one is committed. `unknown`: no heartbeat has its token. */
export type PingOutcome = AdmittedPing['outcome'] | 'unknown';

/** The outcome of a ping, and the account of its heartbeat; null if its token is unknown. */
export type AccountPing = { outcome: PingOutcome; tenantId: string | null };

/** A row of a heartbeat; includes the marks of its rates if requested. */
type HeartbeatRow = Omit<Heartbeat, 'schedule'> &
  ScheduleColumns &
  Partial<PingMarks> & { monitorNo: number; tokenFingerprint: Buffer; tenantId?: string };

/** A heartbeat, and its account, while its pings are taken. */
type Entry = { monitorNo: number; tenantId: string; heartbeat: Heartbeat; marks: PingMarks; isChanged: boolean };

/** A ping to store, and its heartbeat. */
type StoredRow = PingRow & { monitorNo: number };

const COLUMNS = `monitor_no AS "monitorNo", token_fingerprint AS "tokenFingerprint",
  interval_seconds AS "intervalSeconds", grace_seconds AS "graceSeconds",
  cron, time_zone AS "timezone", early_seconds AS "earlySeconds",
  max_duration_seconds AS "maxDurationSeconds", fail_enabled AS "failEnabled", is_paused AS "isPaused", verdict,
  heard_at AS "receivedAtMs", last_signal AS "lastSignal", due_at AS "dueAtMs", overrun_at AS "overrunAtMs",
  run_started_at AS "runStartedAtMs"`;

/**
 * Takes pings that arrived at `nowMs`, in order, in one transaction. The heartbeats are locked in the order of their
 * numbers, so that batches of several processes never deadlock. Returns the outcome of each; taken ones are committed.
 * Creates the partition of the day if it is missing.
 */
export async function takePings(
  database: Database,
  pings: readonly TokenPing[],
  nowMs: number,
): Promise<AccountPing[]> {
  const take = () => inTransaction(database, (run) => takeBatch(run, pings, nowMs));
  try {
    return await take();
  } catch (error) {
    if (sqlStateOf(error) !== NO_PARTITION) throw error;
    await createPartitions(database, nowMs);
    return await take();
  }
}

async function takeBatch(run: Run, pings: readonly TokenPing[], nowMs: number): Promise<AccountPing[]> {
  const named = pings.map(({ token, ping }) => ({ ping, fingerprint: fingerprintOf(token) }));
  const rows = await run<HeartbeatRow>(
    `SELECT ${COLUMNS}, rows_used_up AS "rowsUsedUpMs", bytes_used_up AS "bytesUsedUpMs",
       (SELECT tenant_id FROM monitors WHERE no = monitor_no) AS "tenantId"
     FROM heartbeats WHERE token_fingerprint = ANY($1::bytea[]) ORDER BY monitor_no FOR NO KEY UPDATE`,
    [named.map(({ fingerprint }) => fingerprint)],
  );
  const found = new Map(
    rows.map((row): [string, Entry] => [
      row.tokenFingerprint.toString('hex'),
      {
        monitorNo: row.monitorNo,
        tenantId: row.tenantId ?? '',
        heartbeat: heartbeatOf(row),
        marks: marksOf(row),
        isChanged: false,
      },
    ]),
  );
  const taking = named.map(({ ping, fingerprint }) => ({ ping, entry: found.get(fingerprint.toString('hex')) }));
  const waiting = await listWaiting(
    run,
    taking.flatMap(({ ping, entry }) => (entry !== undefined && mayChangeState(entry.heartbeat, ping) ? [entry] : [])),
  );
  const stored: StoredRow[] = [];
  const outcomes = taking.map(({ ping, entry }): AccountPing => {
    if (entry === undefined) return { outcome: 'unknown', tenantId: null };
    const { monitorNo, tenantId } = entry;
    const ofAccount = waiting.get(tenantId) ?? { count: 0, monitorNos: new Set() };
    const admitted = admitPing({ ...entry, waiting: ofAccount }, ping, nowMs);
    if (admitted.outcome === 'refused') return { outcome: 'refused', tenantId };
    const { outcome, heartbeat, marks, row } = admitted;
    Object.assign(entry, { heartbeat, marks, isChanged: true });
    if (row !== null) stored.push({ ...row, monitorNo });
    if (row?.mayChangeState === true) {
      ofAccount.count += 1;
      ofAccount.monitorNos.add(monitorNo);
      waiting.set(tenantId, ofAccount);
    }
    return { outcome, tenantId };
  });
  await storeBatch(
    run,
    [...found.values()].filter((entry) => entry.isChanged),
    stored,
  );
  return outcomes;
}

/**
 * Counts the undecided pings of the accounts of these heartbeats; `monitorNos` are those of the given ones. Missed
 * deadlines do not count: the service itself takes them, at most one of each heartbeat.
 */
async function listWaiting(run: Run, entries: readonly Entry[]): Promise<Map<string, WaitingObservations>> {
  if (entries.length === 0) return new Map();
  const rows = await run<{ tenantId: string; count: number; monitorNos: number[] }>(
    `SELECT m.tenant_id AS "tenantId", count(*)::int AS count,
            coalesce(array_agg(DISTINCT o.monitor_no) FILTER (WHERE o.monitor_no = ANY($2::int[])), '{}')
              AS "monitorNos"
     FROM heartbeat_observations o JOIN monitors m ON m.no = o.monitor_no
     WHERE m.tenant_id = ANY($1::text[]) AND o.sight NOT IN ('missed', 'overrun') GROUP BY m.tenant_id`,
    [[...new Set(entries.map(({ tenantId }) => tenantId))], entries.map(({ monitorNo }) => monitorNo)],
  );
  return new Map(rows.map(({ tenantId, count, monitorNos }) => [tenantId, { count, monitorNos: new Set(monitorNos) }]));
}

/**
 * Stores the changes of a batch in one statement.
 * 1. `moved`: updates the deadlines and rates of the heartbeats.
 * 2. `stored`: the pings.
 * 3. An observation for each ping that may change the state, for the evaluator to decide.
 */
async function storeBatch(
  run: Run,
  heartbeats: readonly { monitorNo: number; heartbeat: Heartbeat; marks: PingMarks }[],
  stored: readonly StoredRow[],
): Promise<void> {
  if (heartbeats.length === 0) return;
  const changing = stored.filter((row) => row.mayChangeState);
  await run(
    `WITH moved AS (
       UPDATE heartbeats h SET verdict = k.verdict, heard_at = k.heard_at, last_signal = k.last_signal,
         due_at = k.due_at, overrun_at = k.overrun_at, run_started_at = k.run_started_at,
           rows_used_up = k.rows_used_up, bytes_used_up = k.bytes_used_up
       FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
         $20::bigint[], $21::bigint[])
            AS k (monitor_no, verdict, heard_at, last_signal, due_at, overrun_at, run_started_at, rows_used_up,
              bytes_used_up)
       WHERE h.monitor_no = k.monitor_no
     ), stored AS (
       INSERT INTO heartbeat_pings (at, monitor_no, kind, exit_status, duration_ms, body)
       SELECT * FROM unnest($8::bigint[], $9::int[], $10::text[], $11::smallint[], $12::bigint[], $13::text[])
     )
     INSERT INTO heartbeat_observations (at, monitor_no, sight, exit_status, duration_ms, first_line)
     SELECT * FROM unnest($14::bigint[], $15::int[], $16::text[], $17::smallint[], $18::bigint[], $19::text[])`,
    [
      heartbeats.map(({ monitorNo }) => monitorNo),
      heartbeats.map(({ heartbeat }) => heartbeat.verdict),
      heartbeats.map(({ heartbeat }) => heartbeat.receivedAtMs),
      heartbeats.map(({ heartbeat }) => heartbeat.lastSignal),
      heartbeats.map(({ heartbeat }) => heartbeat.dueAtMs),
      heartbeats.map(({ heartbeat }) => heartbeat.overrunAtMs),
      heartbeats.map(({ heartbeat }) => heartbeat.runStartedAtMs),
      ...columnsOf(stored),
      stored.map(({ ping }) => ping.body),
      ...columnsOf(changing),
      changing.map(({ ping }) => firstLineOf(ping.body)),
      heartbeats.map(({ marks }) => marks.rowsUsedUpMs),
      heartbeats.map(({ marks }) => marks.bytesUsedUpMs),
    ],
  );
}

function columnsOf(rows: readonly StoredRow[]): unknown[][] {
  return [
    rows.map(({ atMs }) => atMs),
    rows.map(({ monitorNo }) => monitorNo),
    rows.map(({ ping }) => ping.kind),
    rows.map(({ ping }) => ping.exitStatus),
    rows.map(({ durationMs }) => durationMs),
  ];
}

/**
 * Updates the heartbeat of a monitor from its settings, inside the caller's transaction, after the monitor was created,
 * changed, paused or resumed at `nowMs`. Does nothing for other types.
 */
export async function updateHeartbeat(run: Run, monitor: Monitor, nowMs: number): Promise<void> {
  if (monitor.type !== 'heartbeat') return;
  const { token } = monitor.checkSpec.heartbeat ?? {};
  if (token === undefined) throw new Error(`The heartbeat ${monitor.id} has no token`);
  const [row] = await run<HeartbeatRow>(`SELECT ${COLUMNS} FROM heartbeats WHERE monitor_no = $1 FOR NO KEY UPDATE`, [
    monitor.no,
  ]);
  const heartbeat = arrangeHeartbeat(
    row === undefined ? null : heartbeatOf(row),
    { settings: settingsOf(monitor), enabled: monitor.enabled },
    nowMs,
  );
  await writeHeartbeats(run, [{ monitorNo: monitor.no, token, heartbeat }]);
}

/** Inserts the heartbeats of monitors that were created at `nowMs`, inside the caller's transaction. */
export async function insertHeartbeats(run: Run, monitors: readonly Monitor[], nowMs: number): Promise<void> {
  await writeHeartbeats(
    run,
    monitors.map((monitor) => ({
      monitorNo: monitor.no,
      token: monitor.checkSpec.heartbeat?.token ?? '',
      heartbeat: arrangeHeartbeat(null, { settings: settingsOf(monitor), enabled: monitor.enabled }, nowMs),
    })),
  );
}

async function writeHeartbeats(
  run: Run,
  rows: readonly { monitorNo: number; token: string; heartbeat: Heartbeat }[],
): Promise<void> {
  const columnOf = (value: (heartbeat: Heartbeat) => unknown) => rows.map(({ heartbeat }) => value(heartbeat));
  await run(
    `INSERT INTO heartbeats (monitor_no, token_fingerprint, interval_seconds, grace_seconds, max_duration_seconds,
       fail_enabled, is_paused, verdict, heard_at, last_signal, due_at, overrun_at, run_started_at, cron, time_zone,
       early_seconds)
     SELECT * FROM unnest($1::int[], $2::bytea[], $3::int[], $4::int[], $5::int[], $6::boolean[], $7::boolean[],
       $8::text[], $9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::text[],
       $16::int[])
     ON CONFLICT (monitor_no) DO UPDATE SET
       interval_seconds = excluded.interval_seconds, grace_seconds = excluded.grace_seconds,
       max_duration_seconds = excluded.max_duration_seconds, fail_enabled = excluded.fail_enabled,
       is_paused = excluded.is_paused, verdict = excluded.verdict, heard_at = excluded.heard_at,
       last_signal = excluded.last_signal, due_at = excluded.due_at, overrun_at = excluded.overrun_at,
       run_started_at = excluded.run_started_at, cron = excluded.cron, time_zone = excluded.time_zone,
       early_seconds = excluded.early_seconds`,
    [
      rows.map(({ monitorNo }) => monitorNo),
      rows.map(({ token }) => fingerprintOf(token)),
      columnOf(({ intervalSeconds }) => intervalSeconds),
      columnOf(({ graceSeconds }) => graceSeconds),
      columnOf(({ maxDurationSeconds }) => maxDurationSeconds),
      columnOf(({ failEnabled }) => failEnabled),
      columnOf(({ isPaused }) => isPaused),
      columnOf(({ verdict }) => verdict),
      columnOf(({ receivedAtMs }) => receivedAtMs),
      columnOf(({ lastSignal }) => lastSignal),
      columnOf(({ dueAtMs }) => dueAtMs),
      columnOf(({ overrunAtMs }) => overrunAtMs),
      columnOf(({ runStartedAtMs }) => runStartedAtMs),
      columnOf(({ schedule }) => schedule?.cron ?? null),
      columnOf(({ schedule }) => schedule?.timezone ?? null),
      columnOf(({ schedule }) => schedule?.earlySeconds ?? null),
    ],
  );
}

function settingsOf({ intervalSeconds, heartbeatGraceSeconds, checkSpec }: Monitor): HeartbeatSettings {
  const { maxDurationSeconds = null, failEnabled = true, schedule } = checkSpec.heartbeat ?? {};
  return {
    intervalSeconds,
    schedule: schedule === undefined ? null : runScheduleOf(schedule.cron, schedule.timezone, schedule.early_seconds),
    graceSeconds: heartbeatGraceSeconds ?? 0,
    maxDurationSeconds,
    failEnabled,
  };
}

function marksOf({ rowsUsedUpMs = null, bytesUsedUpMs = null }: HeartbeatRow): PingMarks {
  return { rowsUsedUpMs, bytesUsedUpMs };
}

function heartbeatOf(row: HeartbeatRow): Heartbeat {
  const {
    monitorNo: _no,
    tokenFingerprint: _token,
    tenantId: _tenant,
    rowsUsedUpMs: _rows,
    bytesUsedUpMs: _bytes,
    cron,
    timezone,
    earlySeconds,
    ...heartbeat
  } = row;
  return { ...heartbeat, schedule: scheduleOf({ cron, timezone, earlySeconds }) };
}

/** Time when the next ping of a monitor's heartbeat is expected, in Unix milliseconds, and the zone of its schedule. */
export type ExpectedPing = { atMs: number; timezone: string };

/**
 * Returns when the next pings of heartbeats are expected, by the ids of their monitors. Paused heartbeats, and those
 * without a schedule that missed a ping, have no expected time and no entry.
 */
export async function readExpectedPings(
  { pool }: Pick<Database, 'pool'>,
  { nowMs, ...selection }: ({ tenantId: string } | { monitorIds: readonly string[] }) & { nowMs: number },
): Promise<Map<string, ExpectedPing>> {
  const isOfTenant = 'tenantId' in selection;
  const rows = await runOn(pool)<HeartbeatRow & { id: string }>(
    {
      name: `read-expected-pings-of-${isOfTenant ? 'tenant' : 'monitors'}`,
      text: `SELECT m.id, h.* FROM monitors m
             CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM heartbeats WHERE monitor_no = m.no) AS h
             WHERE ${isOfTenant ? 'm.tenant_id = $1' : 'm.id = ANY($1::text[])'} AND m.type = 'heartbeat'`,
    },
    ['tenantId' in selection ? selection.tenantId : selection.monitorIds],
  );
  return new Map(
    rows.flatMap(({ id, ...row }) => {
      const heartbeat = heartbeatOf(row);
      const atMs = nextExpectedAt(heartbeat, nowMs);
      return atMs === null ? [] : [[id, { atMs, timezone: heartbeat.schedule?.timezone ?? 'UTC' }]];
    }),
  );
}
