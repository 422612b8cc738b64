import type {
  AuditAction,
  AuditActor,
  AuditEntry,
  AuditObject,
  Author,
  Compared,
  FieldChanges,
} from '../../core/accounts/audit-entry.ts';
import type { Channel } from '../../core/alerts/channel.ts';
import { describeRule } from '../../core/alerts/rules.ts';
import { formatFields } from '../../core/alerts/webhook.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { Monitor, MonitorSecrets } from '../../core/monitors/monitor.ts';
import { namedSettings } from '../../core/monitors/named-settings.ts';
import type { Database } from '../database.ts';
import type { IdPrefix } from '../secrets/ids.ts';
import { runOn, type Run } from '../sql.ts';

/** The author of a change for the audit log; null = it is not recorded. */
export type Authored = { author: Author | null };

/**
 * A recorded action and its object. `changes` is absent if there is nothing to compare; empty = nothing was changed.
 * `actor` is for authors without one.
 */
type Recorded = { tenantId: string; object: AuditObject; changes?: FieldChanges; actor?: AuditActor };

/** The actor at the command line. */
export const OPERATOR: AuditActor = { kind: 'operator', id: null, name: 'Operator' };

/** Returns the actor for the service itself, or for an external system that calls it. */
export function systemActor(
  name: 'Spotcheck' | 'Slack' | 'Telegram' | 'Email' | 'Ping key' | 'OpenID Connect',
): AuditActor {
  return { kind: 'system', id: null, name };
}

/** Makes an author that is not a caller of the API; `address` is that of the visitor, if there is one. */
export function systemAuthorOf(
  actor: AuditActor,
  action: AuditAction,
  { newId, nowMs, address = null }: { newId: (prefix: IdPrefix) => string; nowMs: number; address?: string | null },
): Author {
  return { id: newId('aud'), action, actor, address, nowMs };
}

/**
 * Writes the entry of a change with `run`, in the transaction of that change. Writes nothing without an author or
 * without changes. Throws if the actor is unknown.
 */
export async function insertAuditEntry(run: Run, author: Author | null, recorded: Recorded): Promise<void> {
  const { tenantId, object, changes } = recorded;
  if (author === null || (changes !== undefined && Object.keys(changes).length === 0)) return;
  const actor = author.actor ?? recorded.actor;
  if (actor === undefined) throw new Error(`No actor is known of ${author.action}`);
  await run(
    {
      name: 'record-change',
      text: `INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_id, actor_name, action, object_kind, object_id,
               object_name, changes, address)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    },
    [
      author.id,
      tenantId,
      Math.floor(author.nowMs / 1000),
      actor.kind,
      actor.id,
      actor.name,
      author.action,
      object.kind,
      object.id,
      object.name,
      JSON.stringify(changes ?? {}),
      author.address,
    ],
  );
}

/** Writes the entries of several changes, each with its author, in the transaction of the changes. */
export async function insertAuditEntries(run: Run, recorded: readonly (Recorded & Authored)[]): Promise<void> {
  const entries = recorded.flatMap(({ author, actor, ...entry }) => {
    const who = author?.actor ?? actor;
    return author === null || who === undefined ? [] : [{ ...entry, author, actor: who }];
  });
  await run(
    `INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_id, actor_name, action, object_kind, object_id,
       object_name, changes, address)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::text[], $9::text[], $10::text[], $11::jsonb[], $12::text[])`,
    [
      entries.map(({ author }) => author.id),
      entries.map(({ tenantId }) => tenantId),
      entries.map(({ author }) => Math.floor(author.nowMs / 1000)),
      entries.map(({ actor }) => actor.kind),
      entries.map(({ actor }) => actor.id),
      entries.map(({ actor }) => actor.name),
      entries.map(({ author }) => author.action),
      entries.map(({ object }) => object.kind),
      entries.map(({ object }) => object.id),
      entries.map(({ object }) => object.name),
      entries.map(({ changes }) => JSON.stringify(changes ?? {})),
      entries.map(({ author }) => author.address),
    ],
  );
}

/** Filter for a tenant's log; times are Unix seconds, both included. */
type AuditFilter = {
  actorId?: string;
  action?: AuditAction;
  objectKind?: AuditObject['kind'];
  objectId?: string;
  from?: number;
  to?: number;
};

type EntryRow = {
  id: string;
  at: number;
  actor_kind: AuditActor['kind'];
  actor_id: string | null;
  actor_name: string;
  action: AuditAction;
  object_kind: AuditObject['kind'];
  object_id: string;
  object_name: string;
  changes: FieldChanges;
  address: string | null;
};

/** Lists a tenant's entries, the newest first; `before` is the last one of the previous page. */
export async function listAuditLog(
  database: Pick<Database, 'pool'>,
  query: { tenantId: string; filter: AuditFilter; before?: { at: number; id: string }; limit: number },
): Promise<AuditEntry[]> {
  const bind: unknown[] = [query.tenantId];
  const bound = (value: unknown) => `$${bind.push(value)}`;
  const { actorId, action, objectKind, objectId, from, to } = query.filter;
  const conditions = [
    'tenant_id = $1',
    ...(actorId === undefined ? [] : [`actor_id = ${bound(actorId)}`]),
    ...(action === undefined ? [] : [`action = ${bound(action)}`]),
    ...(objectKind === undefined ? [] : [`object_kind = ${bound(objectKind)}`]),
    ...(objectId === undefined ? [] : [`object_id = ${bound(objectId)}`]),
    ...(from === undefined ? [] : [`at >= ${bound(from)}`]),
    ...(to === undefined ? [] : [`at <= ${bound(to)}`]),
    // Entries are ordered by their numbers, which no response contains.
    ...(query.before === undefined
      ? []
      : [
          `no < (SELECT no FROM audit_log WHERE tenant_id = $1 AND at = ${bound(query.before.at)} AND id = ` +
            `${bound(query.before.id)})`,
        ]),
  ];
  const rows = await runOn(database.pool)<EntryRow>(
    `SELECT id, at, actor_kind, actor_id, actor_name, action, object_kind, object_id, object_name, changes, address
     FROM audit_log WHERE ${conditions.join(' AND ')} ORDER BY no DESC LIMIT ${bound(query.limit)}`,
    bind,
  );
  return rows.map(entryOf);
}

/**
 * Records that sign-ins of a user are refused for a while; does nothing if there is no such user. Needs no transaction,
 * because nothing else changes.
 */
export async function recordThrottledSignIn(
  database: Pick<Database, 'pool'>,
  { author, userId }: { author: Author; userId: string },
): Promise<void> {
  const { name } = systemActor('Spotcheck');
  await runOn(database.pool)(
    `INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_name, action, object_kind, object_id, object_name,
     changes, address)
     SELECT $1, u.tenant_id, $2, 'system', $3, $4, 'member', u.id, u.email, '{}', $5 FROM users u WHERE u.id = $6`,
    [author.id, Math.floor(author.nowMs / 1000), name, author.action, author.address, userId],
  );
}

/** Number of entries that one statement deletes. */
const CHUNK = 50_000;

/** Deletes entries of all accounts from before a time, in chunks while `mayGoOn` returns true; returns their number. */
export async function deleteOldAuditEntries(
  database: Pick<Database, 'pool'>,
  beforeMs: number,
  mayGoOn: () => boolean = () => true,
): Promise<number> {
  let deleted = 0;
  for (let last = CHUNK; last === CHUNK && mayGoOn(); deleted += last) {
    const [row] = await runOn(database.pool)<{ deleted: number }>(
      `WITH gone AS (DELETE FROM audit_log WHERE no IN (SELECT no FROM audit_log WHERE at <= $1 LIMIT ${CHUNK})
         RETURNING 1) SELECT count(*) AS deleted FROM gone`,
      [Math.floor(beforeMs / 1000)],
    );
    last = row?.deleted ?? 0;
  }
  return deleted;
}

function entryOf({
  actor_kind,
  actor_id,
  actor_name,
  object_kind,
  object_id,
  object_name,
  ...rest
}: EntryRow): AuditEntry {
  return {
    ...rest,
    actor: { kind: actor_kind, id: actor_id, name: actor_name },
    object: { kind: object_kind, id: object_id, name: object_name },
  };
}

/**
 * Returns the settings of a monitor as the API shows them to readers, by field name. Fields hidden there are secret
 * here too: a heartbeat's token lets anyone ping.
 */
export function monitorFields(
  monitor: Monitor,
  { agentIds, parents }: { agentIds: readonly string[]; parents: readonly Parent[] },
  secrets: MonitorSecrets,
): Compared {
  const { heartbeat: { token, ...heartbeat } = {}, ...checkSpec } = monitor.checkSpec;
  return {
    fields: {
      ...namedSettings(monitor),
      agent_sources: agentIds.toSorted(),
      ...(parents.length > 0 && { depends_on: parents.map(({ id, mode }) => `${id} (${mode})`) }),
      check_spec: { ...checkSpec, heartbeat },
    },
    secrets: {
      // Secret headers count as one field without names, which `secretHeaderNames` shows.
      'check_spec.request.secretHeaders': secrets.secretHeaders && [secrets.secretHeaders],
      'check_spec.request.auth': secrets.auth && [secrets.auth],
      'check_spec.request.body': secrets.body,
      'check_spec.transport.payload': secrets.payload,
      'check_spec.heartbeat.token': token,
    },
  };
}

/** Returns the settings of a channel as responses show them, without its URL and signing secret. */
export function channelFields(channel: Channel): Compared {
  const {
    name,
    type,
    enabled,
    allMonitors,
    monitorIds,
    monitorTags,
    wantsReports,
    reportTimezone,
    followsMaintenance,
    rules,
    groupSeconds,
    summarizesFlapping,
    urlHost,
    headerNames,
    format,
    address,
  } = channel;
  return {
    fields: {
      name,
      type,
      enabled,
      all_monitors: allMonitors,
      monitor_ids: monitorIds,
      monitor_tags: monitorTags,
      ...(type === 'webhook' ? { follows_maintenance: followsMaintenance } : { reports: wantsReports }),
      ...(rules !== null && { rules: rules.map(describeRule) }),
      ...(groupSeconds > 0 && { group_seconds: groupSeconds }),
      ...(summarizesFlapping && { summarize_flapping: true }),
      url_host: urlHost,
      ...(address !== null && { address, report_timezone: reportTimezone ?? 'UTC' }),
      ...(headerNames.length > 0 && { header_names: headerNames }),
      ...formatFields(format),
    },
  };
}

/** The state before creation or after deletion. */
export const NOTHING: Compared = { fields: null };
