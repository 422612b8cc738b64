import type { PoolClient } from 'pg';
import type { TimeReading } from '../../core/system/service-clock.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { pullBackTimes } from '../system/future-times.ts';
import { MARKS } from '../system/service-marks.ts';

/**
 * Names of the marks of the service's time. `time` is a time by PostgreSQL's clock (`at`) and the same in the service's
 * time (`resumed_at`). `time agreed` is when a process last found that both agree with its own. `time set` is when the
 * service's time was last set, in that time itself, and its previous value.
 */
const TIME = { corrected: 'time', agreed: 'time agreed', set: 'time set' } as const;

const DATABASE_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::double precision';

/** Time after a change in which old times may still be written, in milliseconds. */
const AFTERMATH_MS = 60_000;

/** Reads PostgreSQL's clock and the marks of the service's time, with one statement. */
export async function readTime(database: Pick<Database, 'pool'>): Promise<TimeReading> {
  const { rows } = await database.pool.query<{
    database_ms: number;
    at: number | null;
    service_at: number | null;
    agreed_at: number | null;
  }>({
    name: 'read-time',
    text: `SELECT ${DATABASE_MS} AS database_ms, t.at, t.resumed_at AS service_at, (SELECT at FROM service_marks
        WHERE name = $2) AS agreed_at
           FROM (SELECT 1) one LEFT JOIN service_marks t ON t.name = $1`,
    values: [TIME.corrected, TIME.agreed],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL did not say what time it is');
  const { database_ms: databaseMs, at, service_at: serviceAt, agreed_at: agreedAt } = row;
  return {
    databaseMs,
    correctionMs: (serviceAt ?? 0) - (at ?? 0),
    correctedAtMs: at ?? databaseMs,
    agreedAtMs: agreedAt ?? 0,
  };
}

/** Records that this process agrees with the reading. Not flushed to disk: a row lost in a crash is only outdated. */
export async function recordAgreement(database: Pick<Database, 'pool'>, { databaseMs }: TimeReading): Promise<void> {
  await database.pool.query({
    name: 'record-agreed-time',
    text: `INSERT INTO service_marks (name, at, resumed_at) SELECT $1::text, $2::bigint, $2::bigint
        WHERE set_config('synchronous_commit', 'off', true) = 'off'
           ON CONFLICT (name) DO UPDATE SET at = excluded.at, resumed_at = excluded.resumed_at`,
    values: [TIME.agreed, Math.round(databaseMs)],
  });
}

/**
 * Corrects the service's time for a step of PostgreSQL's clock, so that it continues evenly. The moment of the step is
 * recorded as a gap of the clock. False if another process was faster, or the clock was set again.
 */
export async function correctTime(
  database: Pick<Database, 'pool'>,
  { reading, correctionMs }: { reading: TimeReading; correctionMs: number },
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const now = await lockTime(run);
    if (now.correctionMs !== reading.correctionMs || Math.abs(now.databaseMs - reading.databaseMs) > AFTERMATH_MS)
      return false;
    const atMs = Math.round(now.databaseMs);
    await run('UPDATE service_marks SET at = $2, resumed_at = $3 WHERE name = $1', [
      TIME.corrected,
      atMs,
      atMs + correctionMs,
    ]);
    await run(
      `INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT (name) DO UPDATE
       SET at = excluded.at, resumed_at = excluded.resumed_at`,
      [TIME.agreed, atMs],
    );
    await recordClockGap(run, { startMs: atMs + correctionMs, endMs: atMs + correctionMs });
    return true;
  });
}

/** Change of the service's time, in milliseconds. */
export type TimeSetting = { byMs: number };

/**
 * Sets the service's time to PostgreSQL's clock, in one transaction with the consequences for stored times. If set
 * forward, the skipped time is a gap of the clock; if set back, no stored time may be in the future. Null if another
 * process was faster.
 */
export async function settleTime(database: Pick<Database, 'pool'>, reading: TimeReading): Promise<TimeSetting | null> {
  return await inTransaction(database, async (run, client) => {
    const now = await lockTime(run);
    if (now.correctionMs !== reading.correctionMs || now.correctedAtMs !== reading.correctedAtMs) return null;
    const nowMs = Math.round(now.databaseMs);
    await run('UPDATE service_marks SET at = $2, resumed_at = $2 WHERE name = $1', [TIME.corrected, nowMs]);
    await setTime({ run, client }, { nowMs, wasMs: nowMs + now.correctionMs });
    return { byMs: -now.correctionMs };
  });
}

/**
 * Does the same as `settleTime` if the clock was set back while no process of the service ran: `agreedAtMs` shows that
 * its time was ahead.
 */
export async function settleAfterRest(
  database: Pick<Database, 'pool'>,
  reading: TimeReading,
): Promise<TimeSetting | null> {
  return await inTransaction(database, async (run, client) => {
    const now = await lockTime(run);
    if (now.agreedAtMs !== reading.agreedAtMs || now.correctionMs !== reading.correctionMs) return null;
    const nowMs = Math.round(now.databaseMs);
    await run('UPDATE service_marks SET at = $2, resumed_at = $2 WHERE name = $1', [TIME.corrected, nowMs]);
    await run('UPDATE service_marks SET at = $2, resumed_at = $2 WHERE name = $1', [TIME.agreed, nowMs]);
    const wasMs = now.agreedAtMs + now.correctionMs;
    await setTime({ run, client }, { nowMs, wasMs });
    return { byMs: nowMs - wasMs };
  });
}

async function setTime(
  { run, client }: { run: Run; client: PoolClient },
  { nowMs, wasMs }: { nowMs: number; wasMs: number },
): Promise<void> {
  await recordSetting(run, { nowMs, wasMs });
  if (nowMs < wasMs) await pullBackTimes(client, { nowMs, backMs: wasMs - nowMs });
  await recordClockGap(run, { startMs: Math.min(wasMs, nowMs), endMs: nowMs });
  // After the gap is recorded, the next self-watch begins here, and silence counts from here.
  await run('UPDATE service_marks SET at = $2, resumed_at = $2 WHERE name = $1', [MARKS.sweep, nowMs]);
}

/** Records that the service's time was set, here or only in one process. */
export async function recordSetting(run: Run, { nowMs, wasMs }: { nowMs: number; wasMs: number }): Promise<void> {
  await run(
    `INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE
     SET at = excluded.at, resumed_at = excluded.resumed_at`,
    [TIME.set, nowMs, wasMs],
  );
}

/**
 * Reports whether the service's time was set back so recently that processes with the old time may have written since.
 */
export async function findSetBack(run: Run, nowMs: number): Promise<boolean> {
  const rows = await run(
    'SELECT 1 FROM service_marks WHERE name = $1 AND resumed_at > at AND at BETWEEN $2::bigint - $3::bigint AND ' +
      '$2::bigint + $3::bigint',
    [TIME.set, nowMs, AFTERMATH_MS],
  );
  return rows.length > 0;
}

/**
 * Minimum suspicious jump of the time, in milliseconds. A clock change, or a standstill of the service, may be a
 * mistake that is soon corrected.
 */
const SUSPECT_JUMP_MS = HOUR_MS;

/**
 * Reports whether the service's time is too uncertain for irreversible actions. PostgreSQL's clock was set and has not
 * settled yet, or within the last `jumpWindowMs` the time jumped ahead by more than an hour.
 */
export async function isTimeUncertain(
  database: Pick<Database, 'pool'>,
  { nowMs, jumpWindowMs }: { nowMs: number; jumpWindowMs: number },
): Promise<boolean> {
  const [row] = await runOn(database.pool)<{ is_uncertain: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM service_marks WHERE name = $1 AND at <> resumed_at)
         OR EXISTS (SELECT 1 FROM service_gaps WHERE kind = 'clock' AND ended_at > $2
           AND ended_at - started_at > $3) AS is_uncertain`,
    [TIME.corrected, nowMs - jumpWindowMs, SUSPECT_JUMP_MS],
  );
  return row?.is_uncertain === true;
}

/**
 * Records that the clock of one process was set, without effect on its time: only the time itself, once for all
 * processes of a host.
 */
export async function recordClockStep(database: Pick<Database, 'pool'>, atMs: number): Promise<void> {
  await inTransaction(database, async (run) => {
    await lockTime(run);
    await recordClockGap(run, { startMs: atMs, endMs: atMs });
  });
}

async function recordClockGap(run: Run, { startMs, endMs }: { startMs: number; endMs: number }): Promise<void> {
  await run(
    `INSERT INTO service_gaps (kind, started_at, ended_at)
     SELECT 'clock', $1::bigint, $2::bigint
     WHERE $2::bigint > $1::bigint OR NOT EXISTS (SELECT 1 FROM service_gaps WHERE kind = 'clock'
       AND started_at BETWEEN $1::bigint - ${AFTERMATH_MS / 6} AND $1::bigint + ${AFTERMATH_MS / 6})`,
    [startMs, endMs],
  );
}

async function lockTime(run: Run): Promise<TimeReading> {
  const nowMs = Math.round(await askDatabase(run));
  await run(
    'INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $3, $3), ($2, $3, $3) ON CONFLICT DO NOTHING',
    [TIME.corrected, TIME.agreed, nowMs],
  );
  const [time] = await run<{ at: number; resumed_at: number }>(
    'SELECT at, resumed_at FROM service_marks WHERE name = $1 FOR UPDATE',
    [TIME.corrected],
  );
  const [agreed] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [TIME.agreed]);
  if (time === undefined || agreed === undefined) throw new Error('The marks of the time are gone');
  return {
    databaseMs: await askDatabase(run),
    correctionMs: time.resumed_at - time.at,
    correctedAtMs: time.at,
    agreedAtMs: agreed.at,
  };
}

async function askDatabase(run: Run): Promise<number> {
  const [row] = await run<{ at: number }>(`SELECT ${DATABASE_MS} AS at`);
  return row?.at ?? 0;
}
