import { randomBytes } from 'node:crypto';
import { RE2JS } from 're2js';
import { writePingToken } from '../../core/accounts/cells.ts';
import { PLAN_LIMITS, type Plan } from '../../core/accounts/plans.ts';
import { costOfPatterns } from '../../core/checks/pattern.ts';
import type { VendorPage } from '../../core/checks/vendor/page.ts';
import { listAliveAgents } from '../../core/monitors/defaults.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { MonitorContext, MonitorDraft } from '../../core/monitors/input/complete.ts';
import type { CheckSpecInput, MonitorBody } from '../../core/monitors/input/fields.ts';
import { findPageToRead, type VendorInput } from '../../core/monitors/input/vendor.ts';
import type { Monitor, MonitorSecrets, MonitorSettings } from '../../core/monitors/monitor.ts';
import { listAgents } from '../../models/agents/agents.ts';
import type { Database } from '../../models/database.ts';
import { readSchedule } from '../../models/heartbeats/schedule.ts';
import { findMonitor, listVendorMonitorIds } from '../../models/monitors/monitors.ts';
import { findRegistrableDomain } from '../../net/registrable-domain.ts';
import type { Parts } from '../handler.ts';
import type { RateLimits } from '../rate-limits.ts';
import { isId } from '../request-context.ts';

/** Random bytes of a heartbeat's token: whoever has it can ping. */
const HEARTBEAT_TOKEN_BYTES = 18;

type MonitorWrite = { account: { tenantId: string; plan: Plan }; monitorId: string; body: MonitorBody; isNew: boolean };

/**
 * Sources of a body's context. `rateLimits` counts reads of a page that the caller names; null if the request is
 * counted already.
 */
export type ContextSources = Parts<'database' | 'readVendorPage' | 'now' | 'config'> & {
  rateLimits: RateLimits | null;
};

/**
 * Loads the limits and objects of a monitor's account that a body is validated against. That includes reading a
 * vendor's page, so it may take seconds. Throws 429 if the account has used up its reads of custom pages, or its large
 * patterns.
 */
export async function loadMonitorContext(
  { database, readVendorPage, now, rateLimits, config }: ContextSources,
  write: MonitorWrite,
): Promise<MonitorContext> {
  const { monitorId, body, isNew } = write;
  const { tenantId, plan } = write.account;
  const patternCost = costOfPatterns(listPatterns(body.check_spec));
  if (patternCost > 0) await rateLimits?.take('pattern', tenantId, patternCost);
  const named = (body.dependencies ?? []).filter(isId);
  const [agents, vendorMonitorIds, page] = await Promise.all([
    // A PATCH that leaves the sources unchanged needs no agents.
    isNew || body.agent_sources !== undefined ? listAgents(database, { tenantId }) : [],
    named.length === 0 ? [] : listVendorMonitorIds(database, tenantId, named),
    findPage(database, write),
  ]);
  if (page?.isInCatalog === false) await rateLimits?.takeFor(page.pageUrl, 'page', tenantId);
  const shared = agents.filter(({ kind }) => kind === 'first_party');
  return {
    monitorId,
    minIntervalSeconds: PLAN_LIMITS[plan].minIntervalSeconds,
    sharedAgentIds: shared.map(({ id }) => id),
    aliveAgentIds: listAliveAgents(shared, now()),
    ownAgentIds: agents.filter(({ kind }) => kind === 'tenant').map(({ id }) => id),
    vendorMonitorIds,
    vendorReading: page && { page, reading: await readVendorPage(page, { tenantId }) },
    newHeartbeatToken: makeHeartbeatToken(monitorId, config.cell ?? null),
    findRegistrableDomain,
    isValidPattern,
    readSchedule: (schedule) => readSchedule(schedule, now()),
  };
}

/** Returns the context of a new heartbeat, which depends only on the account's plan. */
export function newHeartbeatContext({
  monitorId,
  plan,
  cell,
  nowMs,
}: {
  monitorId: string;
  plan: Plan;
  cell: string | null;
  nowMs: number;
}): MonitorContext {
  return {
    monitorId,
    minIntervalSeconds: PLAN_LIMITS[plan].minIntervalSeconds,
    sharedAgentIds: [],
    aliveAgentIds: [],
    ownAgentIds: [],
    vendorMonitorIds: [],
    vendorReading: null,
    newHeartbeatToken: makeHeartbeatToken(monitorId, cell),
    findRegistrableDomain,
    isValidPattern,
    readSchedule: (schedule) => readSchedule(schedule, nowMs),
  };
}

function makeHeartbeatToken(monitorId: string, cell: string | null): string {
  return writePingToken(monitorId, cell, randomBytes(HEARTBEAT_TOKEN_BYTES).toString('base64url'));
}

function listPatterns({ assertions = [], transport }: CheckSpecInput = {}): string[] {
  const patterns = assertions.flatMap(({ op, value }) => (op === 'matches' && value !== undefined ? [value] : []));
  return transport?.expectMode === 'regex' && transport.expect !== undefined
    ? [...patterns, transport.expect]
    : patterns;
}

/** Finds the page to read before the body can be validated. Only a PATCH that names one costs a query. */
async function findPage(
  database: Database,
  { account: { tenantId }, monitorId, body, isNew }: MonitorWrite,
): Promise<VendorPage | null> {
  if (body.target === undefined && body.components === undefined) return null;
  if (isNew) return body.type === 'vendor' ? findPageToRead(body, { target: '', vendor: undefined }) : null;
  const stored = await findMonitor(database, { tenantId, id: monitorId });
  return stored && findPageToPatch(body, stored.monitor);
}

/** Finds the page that a PATCH of the stored monitor is validated against; null if it needs none. */
export function findPageToPatch(body: VendorInput, { type, target, checkSpec }: Monitor): VendorPage | null {
  return type === 'vendor' ? findPageToRead(body, { target, vendor: checkSpec.vendor }) : null;
}

/** Converts a stored monitor to the base of a PATCH. */
export function draftOf({
  monitor,
  agentIds,
  parents,
  secrets,
}: {
  monitor: Monitor;
  agentIds: string[];
  parents: readonly Parent[];
  secrets: MonitorSecrets;
}): MonitorDraft {
  const {
    no: _no,
    id: _id,
    tenantId: _tenant,
    enabled: _enabled,
    state: _state,
    stateSinceMs: _since,
    checksVersion: _version,
    createdAt: _created,
    updatedAt: _updated,
    ...settings
  } = monitor;
  return { settings: settings satisfies MonitorSettings, agentSources: agentIds, parents, secrets };
}

/** Reports whether RE2 accepts a pattern: linear time, so no back-references and no look-around (D-22). */
export function isValidPattern(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}
