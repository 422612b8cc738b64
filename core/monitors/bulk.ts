import type { AuditAction, AuditActor } from '../accounts/audit-entry.ts';
import type { Plan } from '../accounts/plans.ts';
import type { Read } from '../input.ts';
import type { MonitorBody } from './input/fields.ts';
import { MAX_TAGS, sortTags, type Monitor } from './monitor.ts';

/** Actions on many monitors at once. */
export type BulkAction = 'pause' | 'resume' | 'delete' | 'check' | 'tag' | 'untag' | 'patch';

/** Progress of a bulk change. */
export type BulkStatus = 'queued' | 'running' | 'done';

/** Monitors that are changed before the response; more continue as a job (D-481). */
export const MAX_AT_ONCE = 100;

/** Maximum number of monitors per bulk change. */
export const MAX_SELECTED = 5000;

/** The action on each monitor. `patch` only if the action needs one; `ifVersion` as in a PATCH. */
export type BulkOrder = { action: BulkAction; patch?: MonitorBody; ifVersion?: string };

/** The action on each monitor, with its account and actor; `address` null = the connection was gone. */
export type BulkTask = {
  account: { tenantId: string; plan: Plan };
  actor: AuditActor;
  address: string | null;
  order: BulkOrder;
};

/** Selection of monitors, by exactly one of these. */
export type BulkSelection = { ids?: readonly string[]; tags?: readonly string[]; q?: string; all?: true };

/** Body of a bulk change, already validated against the API description. */
type BulkBody = {
  select: BulkSelection;
  action: BulkAction;
  patch?: MonitorBody & { settings_version?: string; if_settings_version?: string; muted_until?: number };
};

const WITH_TAGS: ReadonlySet<BulkAction> = new Set(['tag', 'untag']);
const WITH_PATCH: ReadonlySet<BulkAction> = new Set([...WITH_TAGS, 'patch']);

/** Reads a bulk order, or the contradictions between its parts. */
export function readBulkOrder({ select, action, patch }: BulkBody): Read<BulkOrder> {
  const problems = [...findSelectionProblems(select), ...findPatchProblems(action, patch)];
  if (problems.length > 0) return { ok: false, problems };
  if (patch === undefined) return { ok: true, value: { action } };
  const { settings_version: _read, if_settings_version: ifVersion, ...body } = patch;
  return { ok: true, value: { action, patch: body, ...(ifVersion !== undefined && { ifVersion }) } };
}

function findSelectionProblems(select: BulkSelection): { field: string; message: string }[] {
  if (Object.keys(select).length === 1) return [];
  return [{ field: 'select', message: 'select must have exactly one of ids, tags, q and all' }];
}

function findPatchProblems(action: BulkAction, patch: BulkBody['patch']): { field: string; message: string }[] {
  const problem = (message: string) => [{ field: 'patch', message }];
  if (!WITH_PATCH.has(action))
    return patch === undefined ? [] : problem(`patch must be left out with the action ${action}`);
  if (patch === undefined) return problem(`patch is required with the action ${action}`);
  if (patch.muted_until !== undefined)
    return problem('patch.muted_until must be left out: mute a monitor with POST /v1/monitors/{id}/mute');
  if (!WITH_TAGS.has(action))
    return Object.keys(patch).length === 0 ? problem('patch must have at least one field') : [];
  const isTagsAlone = Object.keys(patch).length === 1 && patch.tags !== undefined && patch.tags.length > 0;
  return isTagsAlone ? [] : problem(`patch must have tags alone, one or more, with the action ${action}`);
}

/** Returns a monitor's tags after `tag` or `untag`, or a problem if there would be too many. */
export function changeTags({ tags }: Pick<Monitor, 'tags'>, { action, patch }: BulkOrder): Read<string[]> {
  const named = patch?.tags ?? [];
  const changed = action === 'untag' ? tags.filter((tag) => !named.includes(tag)) : sortTags([...tags, ...named]);
  if (changed.length <= MAX_TAGS) return { ok: true, value: changed };
  const message = `tags must be at most ${MAX_TAGS} of a monitor, got ${changed.length} with these: remove some first`;
  return { ok: false, problems: [{ field: 'tags', message }] };
}

/** Audit log action for each monitor. */
export const AUDIT_ACTION_OF = {
  pause: 'monitor.paused',
  resume: 'monitor.resumed',
  delete: 'monitor.deleted',
  check: 'monitor.check_requested',
  tag: 'monitor.changed',
  untag: 'monitor.changed',
  patch: 'monitor.changed',
} as const satisfies Record<BulkAction, AuditAction>;

/** Status of a monitor's own operation if it succeeds. */
export const STATUS_OF = {
  pause: 200,
  resume: 200,
  delete: 204,
  check: 202,
  tag: 200,
  untag: 200,
  patch: 200,
} as const satisfies Record<BulkAction, number>;

const CODES = {
  400: 'bad_request',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  429: 'rate_limited',
  503: 'unavailable',
} as const;
type BulkErrorCode = (typeof CODES)[keyof typeof CODES] | 'internal';

/** Returns the machine-readable word for a status. */
export function codeOf(status: number): BulkErrorCode {
  return isKnown(status) ? CODES[status] : 'internal';
}

function isKnown(status: number): status is keyof typeof CODES {
  return Object.hasOwn(CODES, status);
}

/** Outcome for one monitor. `name` null = the account has no such monitor; `error` null = success. */
export type BulkResult = { monitorId: string; name: string | null; status: number; error: string | null };

/** Progress in numbers; `succeeded` and `failed` add up to `done`. */
export type BulkProgress = { total: number; done: number; succeeded: number; failed: number };

/** Counts the results of a change of `total` monitors. */
export function countResults(results: readonly BulkResult[], total: number): BulkProgress {
  const failed = results.filter(({ error }) => error !== null).length;
  return { total, done: results.length, succeeded: results.length - failed, failed };
}
