import type { WebhookFormat } from '../../core/alerts/webhook.ts';
import type { Run, RowKey } from '../sql.ts';

/**
 * Maximum number of channels of an account, on any plan: it limits the cost of one change, far above any real need
 * (D-60 has none).
 */
export const MAX_CHANNELS = 1000;

/** Maximum number of time zones other than UTC in which a tenant's channels get reports: each needs its own report. */
export const MAX_REPORT_ZONES = 10;

/** Maximum number of a tenant's channels that group or summarize: their messages use up no rate (D-540). */
export const MAX_GROUPING = 50;

/** Maximum number of a tenant's webhooks with a template: every list of channels contains each in full. */
export const MAX_TEMPLATES = 100;

/**
 * Maximum number of a tenant's pairs of a monitor and a channel that is notified of it. It is the first, or the second
 * for each of its monitors, whichever is more. If all monitors change together, each pair is an alert, written in a
 * transaction that other tenants' results share.
 */
const MAX_ROUTES = 100_000;
const ROUTES_OF_MONITOR = 100;

/** Refusal to store a channel: its tenant has reached a limit, or it would group in a format that does not allow it. */
export class ChannelRefusal extends Error {
  readonly reason: 'count' | 'routes' | 'report_zones' | 'grouping' | 'templates' | 'grouped_format';

  constructor(reason: ChannelRefusal['reason']) {
    super(`A channel is refused because of ${reason}`);
    this.reason = reason;
  }
}

/** The limited fields of a new or changed channel; absent ones are unset, or stay as they are. */
type LimitedFields = {
  reportTimezone?: string | null;
  groupSeconds?: number;
  summarizesFlapping?: boolean;
  format?: WebhookFormat;
};

/** Reports whether any field is limited beyond the number of channels. */
export function isLimited({ reportTimezone, format, ...fields }: LimitedFields): boolean {
  return Boolean(reportTimezone) || groups(fields) || isTemplate(format);
}

/**
 * Throws a `ChannelRefusal` if the tenant's other channels leave no room for one with these fields. If the tenant's row
 * is locked, the result holds until the transaction ends.
 */
export async function requireRoom(run: Run, { tenantId, id }: RowKey, fields: LimitedFields): Promise<void> {
  const [others] = await run<{ channels: number; zones: number; grouping: number; templates: number }>(
    `SELECT count(*)::int AS channels,
       count(DISTINCT report_timezone) FILTER (WHERE report_timezone <> $3)::int AS zones,
       count(*) FILTER (WHERE group_seconds > 0 OR summarizes_flapping)::int AS grouping,
       count(*) FILTER (WHERE format ? 'template')::int AS templates
     FROM channels WHERE tenant_id = $1 AND id <> $2`,
    [tenantId, id, fields.reportTimezone ?? ''],
  );
  if (others === undefined) return;
  if (others.channels >= MAX_CHANNELS) throw new ChannelRefusal('count');
  if (fields.reportTimezone && others.zones >= MAX_REPORT_ZONES) throw new ChannelRefusal('report_zones');
  if (groups(fields) && others.grouping >= MAX_GROUPING) throw new ChannelRefusal('grouping');
  if (isTemplate(fields.format) && others.templates >= MAX_TEMPLATES) throw new ChannelRefusal('templates');
}

/** SQL: whether a channel is notified of all monitors, or by tags, which any monitor may get. */
const IS_WIDE = `(all_monitors OR any_tags <> '{}' OR all_tags <> '{}')`;

/** The number of a tenant's pairs of monitors and channels, and its maximum. */
type Routes = { count: number; most: number };

/** Counts the pairs of a tenant's monitors and channels (D-659). A channel with tags counts with all monitors. */
export async function countRoutes(run: Run, tenantId: string): Promise<Routes> {
  const [counted] = await run<{ monitors: number; wide: number; named: number }>(
    `SELECT (SELECT count(*) FROM monitors WHERE tenant_id = $1)::int AS monitors,
       (SELECT count(*) FROM channels WHERE tenant_id = $1 AND ${IS_WIDE})::int AS wide,
       (SELECT count(*) FROM channels JOIN channel_monitors ON channel_id = id
         WHERE tenant_id = $1 AND NOT ${IS_WIDE})::int AS named`,
    [tenantId],
  );
  const { monitors, wide, named } = counted ?? { monitors: 0, wide: 0, named: 0 };
  return { count: monitors * wide + named, most: Math.max(MAX_ROUTES, ROUTES_OF_MONITOR * monitors) };
}

/**
 * Reports whether more channels than a monitor may have are notified of all monitors of a tenant, regardless of how
 * many it has.
 */
export async function haveManyChannels(run: Run, tenantId: string): Promise<boolean> {
  const [counted] = await run<{ isMany: boolean }>(
    `SELECT count(*) > ${ROUTES_OF_MONITOR} AS "isMany" FROM channels WHERE tenant_id = $1 AND ${IS_WIDE}`,
    [tenantId],
  );
  return counted?.isMany === true;
}

/** Explains the limit on pairs of monitors and channels, and the remedy. */
export const TOO_MANY_ROUTES =
  `an account can have at most ${MAX_ROUTES.toLocaleString('en-US')} pairs of a monitor and a channel that is ` +
  `notified of it, or ${ROUTES_OF_MONITOR} for each monitor, and a channel for all monitors, or by tags, counts with ` +
  'each: have channels name monitors in monitor_ids, or delete channels';

function groups({ groupSeconds = 0, summarizesFlapping = false }: LimitedFields): boolean {
  return groupSeconds > 0 || summarizesFlapping;
}

function isTemplate(format: WebhookFormat | undefined): boolean {
  return format !== undefined && format !== null && 'template' in format;
}
