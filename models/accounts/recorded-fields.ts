import type { Author, AuditObject } from '../../core/accounts/audit-entry.ts';
import type { FieldChanges, Compared, Fields } from '../../core/accounts/field-changes.ts';
import type { Channel } from '../../core/alerts/channel.ts';
import { describeRule } from '../../core/alerts/rules.ts';
import type { WebhookFormat } from '../../core/alerts/webhook-format.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { Monitor, MonitorSecrets } from '../../core/monitors/monitor.ts';
import { namedSettings } from '../../core/monitors/named-settings.ts';
import type { Run } from '../sql.ts';
import { recordChange } from './audit-log.ts';
import type { User } from './user-row.ts';

/**
 * The settings of a monitor as its own read shows them to a reader, by the names of the API. What that hides is hidden
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
      // Of secret headers not even the names are distinguished: a name is among `secretHeaderNames`.
      'check_spec.request.secretHeaders': secrets.secretHeaders && Object.entries(secrets.secretHeaders),
      'check_spec.request.auth': secrets.auth && Object.entries(secrets.auth),
      'check_spec.request.body': secrets.body,
      'check_spec.transport.payload': secrets.payload,
      'check_spec.heartbeat.token': token,
    },
  };
}

/** The settings of a channel as it is read; its URL and signing secret are not among them. */
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

/** What a webhook is sent, as it is recorded; nothing for the signed envelope. */
export function formatFields(format: WebhookFormat): Fields {
  if (format === null) return {};
  if ('preset' in format) return { preset: format.preset };
  const { method, contentType, body } = format.template;
  return { template: { method, content_type: contentType, body } };
}

/** Nothing, before something came to be or after it went. */
export const NOTHING: Compared = { fields: null };

/** What entries call a person: names are chosen freely, addresses are not. */
export function personName({ name, email }: Pick<User, 'name' | 'email'>): string {
  return name === '' ? email : `${name} (${email})`;
}

/** A person as what something is done to. */
export function memberObject(user: Pick<User, 'id' | 'name' | 'email'>): AuditObject {
  return { kind: 'member', id: user.id, name: personName(user) };
}

/**
 * Records a change of a person who is known by id alone, in the caller's transaction. `changes` is absent where nothing
 * changed that shows.
 */
export async function recordMemberChange(
  run: Run,
  author: Author | null,
  { userId, changes }: { userId: string; changes?: FieldChanges },
): Promise<void> {
  if (author === null) return;
  const [user] = await run<{ id: string; tenant_id: string; email: string; name: string }>(
    'SELECT id, tenant_id, email, name FROM users WHERE id = $1',
    [userId],
  );
  if (user === undefined) return;
  const object = memberObject(user);
  await recordChange(run, author, {
    tenantId: user.tenant_id,
    object,
    actor: { kind: 'user', id: user.id, name: object.name },
    ...(changes && { changes }),
  });
}
