import { isDeepStrictEqual } from 'node:util';
import { compareFields, type Author, type Compared } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS, type Plan } from '../../core/accounts/plans.ts';
import { isScheduled, noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import type { Problem } from '../../core/input.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import {
  isAgentChecked,
  type CheckSpec,
  type Monitor,
  type MonitorSecrets,
  type MonitorSettings,
} from '../../core/monitors/monitor.ts';
import { NOTHING, monitorFields, insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import { countRoutes, haveManyChannels } from '../alerts/channel-limits.ts';
import { awaitOwnResults } from '../alerts/parent-holds.ts';
import { scheduleMonitor } from '../checks/schedule.ts';
import type { Database } from '../database.ts';
import { updateHeartbeat } from '../heartbeats/heartbeats.ts';
import { recordPause, recordResume, resolveDeleted } from '../incidents/history.ts';
import { transactionOn, type MonitorColumns } from '../orm.ts';
import { inTransaction, type Run, type RowKey } from '../sql.ts';
import { PARENTS, lockDependencies, recheckDependents, replaceParents } from './dependencies.ts';
import {
  COLUMNS,
  columnOf,
  monitorOf,
  openSecrets,
  sealSecrets,
  selectList,
  type WholeMonitor,
} from './monitor-rows.ts';

/** Runs at the end of a change's transaction; by throwing it rolls back the change. */
export type BeforeCommit = (run: Run) => Promise<void>;

/**
 * The monitor to change, and the time. With `defersRechecks`, the caller plans the rechecks after the commit; otherwise
 * they are planned with the change.
 */
export type ChangeKey = RowKey & {
  nowMs: number;
  defersRechecks?: boolean;
  beforeCommit?: BeforeCommit;
} & Authored;

/**
 * The new values of a changed monitor; `parents` are absent if unchanged. They change only under the lock of
 * `lockDependencies`.
 */
export type MonitorChange = {
  settings: MonitorSettings;
  secrets: MonitorSecrets;
  agentIds: readonly string[];
  parents?: readonly Parent[];
};

/** A monitor to store; `agentIds` are its sources, already checked to be visible to the tenant. */
type NewMonitor = Omit<ChangeKey, 'beforeCommit'> & MonitorChange;

/** A stored monitor, and the changes of its schedule for the queue. */
export type StoredMonitor = { monitor: Monitor; schedule: ScheduleChange };

/** The reason why a changed monitor cannot be stored. */
export type MonitorRefusalReason =
  | { reason: 'plan_limit'; plan: Plan }
  | { reason: 'too_many_routes' }
  | { reason: 'agents_gone'; ids: readonly string[] }
  | { reason: 'parents'; problems: readonly Problem[] };

/** Thrown if a changed monitor cannot be stored, which rolls back the change. */
export class MonitorRefusal extends Error {
  readonly why: MonitorRefusalReason;

  constructor(why: MonitorRefusalReason) {
    super(`A monitor is refused because of ${why.reason}`);
    this.why = why;
  }
}

/** Reports whether the error means that a plan allows no more monitors. */
export function isPlanLimit(error: unknown): boolean {
  return error instanceof MonitorRefusal && error.why.reason === 'plan_limit';
}

/**
 * Stores a monitor with its sources in one transaction. Throws `MonitorRefusal`, also at the maximum number of monitors
 * of `plan` (null = none), even with concurrent requests.
 */
export async function createMonitor(
  database: Database,
  { id, tenantId, settings, secrets, agentIds, parents = [], nowMs, defersRechecks, author }: NewMonitor,
  plan: Plan | null,
): Promise<StoredMonitor> {
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    if (parents.length > 0) await lockDependencies(run, tenantId);
    if (plan !== null) {
      // The lock makes concurrent requests count one after the other, each after the previous one has stored its
      // monitor.
      await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
      const count = await database.records.monitors.count({ where: { tenantId }, transaction });
      if (count >= PLAN_LIMITS[plan].monitors) throw new MonitorRefusal({ reason: 'plan_limit', plan });
    }
    await requireAgents(run, agentIds);
    const checkSpec = await keepDependencies(run, tenantId, settings.checkSpec);
    const now = Math.floor(nowMs / 1000);
    const record = await database.records.monitors.create(
      {
        id,
        tenantId,
        ...settings,
        checkSpec,
        sealedSecrets: sealSecrets(database, id, secrets),
        awaitsSources: isAgentChecked(settings.type) && agentIds.length === 0,
        stateSince: nowMs,
        createdAt: now,
        updatedAt: now,
      },
      { transaction, returning: true },
    );
    const monitor = monitorOf(record.get({ plain: true }));
    await requireRoutes(run, tenantId);
    if (parents.length > 0) await storeParents(run, { monitor, parents });
    await auditMonitor(run, author, {
      monitor,
      before: NOTHING,
      after: monitorFields(monitor, { agentIds, parents }, secrets),
    });
    return {
      monitor,
      schedule: await scheduleChecks(run, { monitor, agentIds, isChanged: true, nowMs, defersRechecks }),
    };
  });
}

/**
 * Throws if new monitors of a tenant exceed the limit on pairs with channels that are notified of all monitors (D-659).
 */
export async function requireRoutes(run: Run, tenantId: string): Promise<void> {
  if (!(await haveManyChannels(run, tenantId))) return;
  const { count, most } = await countRoutes(run, tenantId);
  if (count > most) throw new MonitorRefusal({ reason: 'too_many_routes' });
}

/** Locks the agents that a change names against deletion and retirement (D-741); throws if some are gone or retired. */
async function requireAgents(run: Run, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const found = await run<{ id: string }>(
    `SELECT id FROM agents WHERE id = ANY($1::text[]) AND (kind = 'tenant' OR revoked_at IS NULL)
     ORDER BY no FOR KEY SHARE`,
    [ids],
  );
  const there = new Set(found.map(({ id }) => id));
  const gone = ids.filter((id) => !there.has(id));
  if (gone.length > 0) throw new MonitorRefusal({ reason: 'agents_gone', ids: gone });
}

/** Locks the vendors that may have caused a failure likewise; deleted ones are dropped, like any unknown id. */
async function keepDependencies(run: Run, tenantId: string, checkSpec: CheckSpec): Promise<CheckSpec> {
  const { dependencies: named, ...others } = checkSpec;
  if (named === undefined || named.length === 0) return checkSpec;
  const found = await run<{ id: string }>(
    'SELECT id FROM monitors WHERE id = ANY($1::text[]) AND tenant_id = $2 ORDER BY no FOR KEY SHARE',
    [named, tenantId],
  );
  const there = new Set(found.map(({ id }) => id));
  const dependencies = named.filter((id) => there.has(id));
  return { ...others, ...(dependencies.length > 0 && { dependencies }) };
}

/** Dependencies of a monitor's change; `defersRechecks` as in `ChangeKey`. */
type UpdateParts = { database: Database; run: Run; nowMs: number; defersRechecks?: boolean } & Authored;

/** A monitor that is locked until the transaction ends, with the row to update. */
export type LockedMonitor = WholeMonitor & { row: MonitorColumns };

/** Locks a monitor for a change in the same transaction; null if the tenant has no such monitor. */
export async function lockMonitor(database: Database, run: Run, key: RowKey): Promise<LockedMonitor | null> {
  const locked = await lockRow(run, key);
  return locked && { ...locked, monitor: monitorOf(locked.row), secrets: openSecrets(database, locked.row) };
}

/**
 * Stores the change of a locked monitor, in the transaction that locked it: settings, sources, slots and audit entry
 * (D-07). A change of the measured settings clears the sources' streaks (D-43). Throws `MonitorRefusal`.
 */
export async function updateMonitor(
  { database, run, author, nowMs, defersRechecks }: UpdateParts,
  locked: LockedMonitor,
  change: MonitorChange,
): Promise<StoredMonitor> {
  const { row, monitor: current, secrets, agentIds } = locked;
  const { parents = locked.parents } = change;
  await requireAgents(
    run,
    change.agentIds.filter((id) => !agentIds.includes(id)),
  );
  const checksVersion = current.checksVersion + (measuresDifferently(current, change, secrets) ? 1 : 0);
  const checkSpec = await keepDependencies(run, current.tenantId, change.settings.checkSpec);
  const isEdited =
    checksVersion !== current.checksVersion ||
    !isDeepStrictEqual(
      [{ ...current, ...change.settings, checkSpec }, change.secrets, change.agentIds, parents],
      [current, secrets, agentIds, locked.parents],
    );
  const changed = await writeChanges(run, row, {
    ...change.settings,
    checkSpec,
    sealedSecrets: sealSecrets(database, current.id, change.secrets),
    checksVersion,
    awaitsSources: change.agentIds.length === 0 && row.awaitsSources,
    // Silence counts from the last edit: a client that sends the same settings again must not postpone that.
    ...(isEdited && { updatedAt: Math.floor(nowMs / 1000) }),
  });
  const monitor = monitorOf(changed);
  let rechecks: Dependents = {};
  if (!isDeepStrictEqual(parents, locked.parents)) {
    await storeParents(run, { monitor, parents });
    const kept = new Set(parents.flatMap(({ id, mode }) => (mode === 'hold' ? [id] : [])));
    const parentIds = locked.parents.flatMap(({ id }) => (kept.has(id) ? [] : [id]));
    rechecks = await wakeDependents(run, { parentIds, monitorId: monitor.id }, nowMs);
  }
  await auditMonitor(run, author, {
    monitor,
    before: monitorFields(current, locked, secrets),
    after: monitorFields(monitor, { agentIds: change.agentIds, parents }, change.secrets),
  });
  const isChanged = checksVersion > current.checksVersion;
  if (!isChanged && keepsSchedule({ monitor, agentIds: change.agentIds }, { monitor: current, agentIds }))
    return { monitor, schedule: { ...noScheduleChange(), ...rechecks } };
  const { agentIds: sources } = change;
  const schedule = await scheduleChecks(run, { monitor, agentIds: sources, isChanged, nowMs, defersRechecks });
  return { monitor, schedule: { ...schedule, ...rechecks } };
}

/** Rechecks of the monitors behind a changed one, if any. */
type Dependents = Pick<ScheduleChange, 'dependents'>;

/**
 * Has alerts that were in the messages of monitors wait for results of their own monitors, which are checked soon
 * (D-532).
 */
async function wakeDependents(
  run: Run,
  parents: Parameters<typeof awaitOwnResults>[1],
  nowMs: number,
): Promise<Dependents> {
  const { monitorIds } = await awaitOwnResults(run, parents, nowMs);
  const dependents = await recheckDependents(run, monitorIds, nowMs);
  return dependents.length === 0 ? {} : { dependents };
}

/**
 * Pauses a monitor: stops its checks and resolves its open incident; does nothing if it is paused. Returns null if
 * there is no such monitor.
 */
export async function pauseMonitor(database: Database, key: ChangeKey): Promise<StoredMonitor | null> {
  return await setEnabled(database, key, false);
}

/**
 * Resumes a paused monitor, which is pending until the first check completes; does nothing if it is not paused. Returns
 * null if there is no such monitor.
 */
export async function resumeMonitor(database: Database, key: ChangeKey): Promise<StoredMonitor | null> {
  return await setEnabled(database, key, true);
}

/**
 * Deletes a monitor and the dependencies on it; resolves its open incident, and keeps its history. Returns null if the
 * tenant has no such monitor.
 */
export async function deleteMonitor(database: Database, key: ChangeKey): Promise<ScheduleChange | null> {
  await inTransaction(database, (run) => forgetVendor(run, key));
  return await inTransaction(database, async (run) => {
    const locked = await lockRow(run, key);
    if (locked === null) return null;
    const { row } = locked;
    const monitor = monitorOf(row);
    // The secrets are not read, so that a monitor whose secrets cannot be opened can be deleted.
    await auditMonitor(run, key.author, {
      monitor,
      before: { fields: monitorFields(monitor, locked, {}).fields },
      after: NOTHING,
    });
    await resolveDeleted(run, { monitorId: key.id, sequence: row.sequence + 1, atMs: key.nowMs });
    const behind = { parentIds: [key.id], wereDown: row.state === 'down' };
    const rechecks = await wakeDependents(run, behind, key.nowMs);
    const schedule = await scheduleMonitor(run, {
      monitorNo: row.no,
      agentNos: [],
      intervalSeconds: row.intervalSeconds,
      scheduled: false,
      isChanged: false,
      nowMs: key.nowMs,
    });
    if (row.type === 'heartbeat')
      await run('INSERT INTO orphaned_pings (monitor_no) VALUES ($1) ON CONFLICT DO NOTHING', [row.no]);
    await run({ name: 'delete-monitor', text: 'DELETE FROM monitors WHERE id = $1' }, [key.id]);
    // Changes that have named it since are committed by now, and few.
    if (row.type === 'vendor') await forgetVendor(run, key);
    await key.beforeCommit?.(run);
    return { ...schedule, ...rechecks };
  });
}

/**
 * Removes a vendor that is about to be deleted, or is, from the dependencies of other monitors. It runs in a separate
 * transaction first: many dependents and their vendor in one would lock monitors in a different order than the
 * evaluator.
 */
async function forgetVendor(run: Run, { tenantId, id }: RowKey): Promise<void> {
  await run(
    `UPDATE monitors SET check_spec = CASE
       WHEN jsonb_array_length(check_spec -> 'dependencies') = 1 THEN check_spec - 'dependencies'
       ELSE jsonb_set(check_spec, '{dependencies}', (check_spec -> 'dependencies') - $2::text) END
     WHERE no IN (
       SELECT no FROM monitors WHERE tenant_id = $1 AND jsonb_exists(check_spec -> 'dependencies', $2)
         AND NOT EXISTS (SELECT FROM monitors WHERE id = $2 AND type <> 'vendor')
       ORDER BY no FOR NO KEY UPDATE)`,
    [tenantId, id],
  );
}

async function setEnabled(database: Database, key: ChangeKey, enabled: boolean): Promise<StoredMonitor | null> {
  return await inTransaction(database, async (run) => {
    const locked = await lockRow(run, key);
    if (locked === null) return null;
    const { row, agentIds } = locked;
    const before = monitorOf(row);
    if (row.enabled === enabled) {
      await key.beforeCommit?.(run);
      return { monitor: before, schedule: noScheduleChange() };
    }
    // The clock of one process may be behind: a state never begins before the previous one (D-43).
    const atMs = Math.max(key.nowMs, row.stateSince);
    const paused = { monitorId: key.id, tenantId: key.tenantId, sequence: row.sequence + 1, from: row.state, atMs };
    await (enabled ? recordResume(run, paused) : recordPause(run, paused));
    const changed = await writeChanges(run, row, {
      enabled,
      state: enabled ? 'pending' : 'paused',
      stateSince: atMs,
      sequence: paused.sequence,
      updatedAt: Math.floor(key.nowMs / 1000),
    });
    const behind = { parentIds: row.state === 'down' ? [row.id] : [], wereDown: true };
    const rechecks = await wakeDependents(run, behind, atMs);
    // The sources' states from before the pause are outdated.
    if (enabled) await run('UPDATE monitor_sources SET state = NULL, seen = NULL WHERE monitor_no = $1', [row.no]);
    const monitor = monitorOf(changed);
    await auditMonitor(run, key.author, {
      monitor,
      before: monitorFields(before, locked, {}),
      after: monitorFields(monitor, locked, {}),
    });
    const schedule = await scheduleChecks(run, { ...key, monitor, agentIds, isChanged: enabled });
    await key.beforeCommit?.(run);
    return { monitor, schedule: { ...schedule, ...rechecks } };
  });
}

async function storeParents(
  run: Run,
  { monitor, parents }: { monitor: Monitor; parents: readonly Parent[] },
): Promise<void> {
  const problems = await replaceParents(run, { tenantId: monitor.tenantId, monitor, parents });
  if (problems.length > 0) throw new MonitorRefusal({ reason: 'parents', problems });
}

async function auditMonitor(
  run: Run,
  author: Author | null,
  { monitor: { id, tenantId, name }, before, after }: { monitor: Monitor; before: Compared; after: Compared },
): Promise<void> {
  await insertAuditEntry(run, author, {
    tenantId,
    object: { kind: 'monitor', id, name },
    changes: compareFields(before, after),
  });
}

type LockedRow = { row: MonitorColumns; agentIds: string[]; parents: Parent[] };

/**
 * Locks the sources and then the monitor, in one statement: this is the evaluator's order, so that the two never
 * deadlock. The monitor is read after any wait. Its sources may have been replaced by the transaction that held the
 * lock, so a second statement reads them. Returns their agents, and the monitors that it depends on.
 */
async function lockRow(run: Run, key: RowKey): Promise<LockedRow | null> {
  const [row] = await run<MonitorColumns>(
    {
      name: 'lock-monitor',
      text: `WITH sources AS MATERIALIZED (
               SELECT 1 FROM monitor_sources WHERE monitor_no = (SELECT no FROM monitors WHERE id = $1
                 AND tenant_id = $2) ORDER BY agent_no FOR UPDATE
             )
             SELECT ${selectList(COLUMNS)} FROM (SELECT count(*) FROM sources) AS locked, monitors WHERE id = $1
               AND tenant_id = $2 FOR UPDATE OF monitors`,
    },
    [key.id, key.tenantId],
  );
  if (row === undefined) return null;
  const [related] = await run<Omit<LockedRow, 'row'>>(
    {
      name: 'list-source-agents',
      text: `SELECT ARRAY (
               SELECT a.id FROM monitor_sources s JOIN agents a ON a.no = s.agent_no WHERE s.monitor_no = m.no
                 AND a.kind <> 'service'
             ) AS "agentIds", ${PARENTS} AS parents FROM (SELECT $1::integer AS no) m`,
    },
    [row.no],
  );
  return { row, agentIds: related?.agentIds.toSorted() ?? [], parents: related?.parents ?? [] };
}

/** Writes the changed fields of a locked row and returns the new row. */
async function writeChanges(run: Run, row: MonitorColumns, fields: Partial<MonitorColumns>): Promise<MonitorColumns> {
  const changed = COLUMNS.filter((name) => fields[name] !== undefined && !isDeepStrictEqual(fields[name], row[name]));
  const assignments = changed.map((name, index) => `${columnOf(name)} = $${index + 2}`);
  if (changed.length > 0)
    await run(`UPDATE monitors SET ${assignments.join(', ')} WHERE id = $1`, [
      row.id,
      ...changed.map((name) => fields[name]),
    ]);
  return { ...row, ...Object.fromEntries(changed.map((name) => [name, fields[name]])) };
}

type ScheduledMonitor = {
  monitor: Monitor;
  agentIds: readonly string[];
  isChanged: boolean;
  nowMs: number;
  defersRechecks?: boolean | undefined;
};

async function scheduleChecks(
  run: Run,
  { monitor, agentIds, isChanged, nowMs, defersRechecks = false }: ScheduledMonitor,
): Promise<ScheduleChange> {
  await updateHeartbeat(run, monitor, nowMs);
  // A monitor that no agent checks has only the service itself as its source.
  const agents = isAgentChecked(monitor.type)
    ? await run<{ no: number }>({ name: 'number-agents', text: 'SELECT no FROM agents WHERE id = ANY($1::text[])' }, [
        agentIds,
      ])
    : await run<{ no: number }>(`SELECT no FROM agents WHERE kind = 'service'`);
  return await scheduleMonitor(run, {
    monitorNo: monitor.no,
    agentNos: agents.map((agent) => agent.no),
    intervalSeconds: monitor.intervalSeconds,
    scheduled: isScheduled(monitor),
    isChanged,
    defersRechecks,
    nowMs,
  });
}

/**
 * Reports whether a monitor is checked by the same agents at the same interval as before. A heartbeat's schedule is its
 * deadline, which depends on more.
 */
function keepsSchedule(
  now: { monitor: Monitor; agentIds: readonly string[] },
  before: { monitor: Monitor; agentIds: readonly string[] },
): boolean {
  const isSame =
    now.monitor.intervalSeconds === before.monitor.intervalSeconds &&
    isScheduled(now.monitor) === isScheduled(before.monitor);
  return isSame && now.monitor.type !== 'heartbeat' && String(now.agentIds.toSorted()) === String(before.agentIds);
}

const MEASURED = [
  'target',
  'method',
  'expectedStatus',
  'bodyMatch',
  'followRedirects',
  'timeoutMs',
  'checkSpec',
] as const satisfies readonly (keyof MonitorSettings)[];

/**
 * Reports whether a change affects the measurement. It never does for heartbeats: later edits do not change the meaning
 * of earlier pings.
 */
function measuresDifferently(current: Monitor, change: MonitorChange, secrets: MonitorSecrets): boolean {
  if (current.type === 'heartbeat') return false;
  const before = [...MEASURED.map((field) => current[field]), secrets];
  const after = [...MEASURED.map((field) => change.settings[field]), change.secrets];
  // PostgreSQL stores the keys of a document in a different order.
  return !isDeepStrictEqual(before, after);
}
