import { createHash } from 'node:crypto';
import type { Inability } from '../../core/agents/wire.ts';
import { writeZonedMoment } from '../../core/heartbeats/schedule.ts';
import { statusOf } from '../../core/incidents/state.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { namedSettings } from '../../core/monitors/named-settings.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { readMutes } from '../../models/alerts/mutes.ts';
import type { Database } from '../../models/database.ts';
import { readExpectedPings, type ExpectedPing } from '../../models/heartbeats/heartbeats.ts';
import { readCurrentMaintenance, type CurrentMaintenance } from '../../models/maintenance/maintenance-times.ts';
import type { ListedMonitor } from '../../models/monitors/monitor-rows.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/**
 * Current facts of a monitor besides its settings, each absent if there is none. They are the maintenance in progress,
 * the end of its mute (Unix milliseconds), and the time of a heartbeat's next expected ping.
 */
export type CurrentFacts = {
  maintenance?: CurrentMaintenance | undefined;
  mutedUntilMs?: number | undefined;
  expected?: ExpectedPing | undefined;
};

/** Selects all monitors of a tenant, or the given ones; `hasHeartbeats` is false if none of them is a heartbeat. */
type FactsQuery = ({ tenantId: string } | { monitorIds: readonly string[] }) & {
  nowMs: number;
  hasHeartbeats: boolean;
};

/** Reads the current facts of monitors; the returned function takes a monitor's id. */
export async function readCurrentFacts(
  database: Database,
  { hasHeartbeats, ...query }: FactsQuery,
): Promise<(monitorId: string) => CurrentFacts> {
  const maintenance = await readCurrentMaintenance(database, query);
  const mutes = await readMutes(database, query);
  const expected = hasHeartbeats ? await readExpectedPings(database, query) : new Map();
  return (id) => ({ maintenance: maintenance.get(id), mutedUntilMs: mutes.get(id), expected: expected.get(id) });
}

/** Reports whether any of these monitors is a heartbeat. */
export function haveHeartbeats(monitors: readonly { type: string }[]): boolean {
  return monitors.some(({ type }) => type === 'heartbeat');
}

/** Returns a monitor for lists, with its current facts. */
export function presentMonitor(
  monitor: ListedMonitor,
  { maintenance, mutedUntilMs, expected }: CurrentFacts,
): Schemas['Monitor'] {
  return {
    id: monitor.id,
    ...namedSettings(monitor),
    status: statusOf(monitor.state),
    maintenance: maintenance ?? null,
    ...(mutedUntilMs !== undefined && { muted_until: toUnixSeconds(mutedUntilMs) }),
    ...(monitor.type === 'heartbeat' && {
      next_expected: expected === undefined ? null : writeZonedMoment(expected.atMs, expected.timezone),
    }),
    state_since: toUnixSeconds(monitor.stateSinceMs),
    created_at: monitor.createdAt,
    updated_at: monitor.updatedAt,
  };
}

/** The agents that probe a monitor, and the monitors that it depends on. */
type Related = { agentIds: readonly string[]; parents: readonly Parent[] };

/** `unable` are those of the agents that cannot probe the monitor. */
type Detail = Related & CurrentFacts & { unable: readonly { id: string; reason: Inability }[] };

/**
 * Returns a monitor with its details. A heartbeat's token lets anyone ping, so only callers with write access see it
 * (D-17).
 */
export function presentMonitorDetail(
  monitor: Monitor,
  { agentIds, unable, parents, ...facts }: Detail,
  { canWrite }: { canWrite: boolean },
): Schemas['MonitorDetail'] {
  return {
    ...presentMonitor(monitor, facts),
    check_spec: presentCheckSpec(monitor, canWrite),
    agent_sources: [...agentIds],
    depends_on: parents.map(({ id, mode }) => ({ id, mode })),
    settings_version: settingsVersionOf(monitor, { agentIds, parents }),
    ...(unable.length > 0 && { agent_sources_unable: [...unable] }),
  };
}

/** Length of a settings version in characters: 96 bits. */
const VERSION_LENGTH = 16;

/**
 * Returns an identifier of a monitor's settings, sources and secrets, so that a change based on an older read is
 * refused. Pausing does not change it.
 */
export function settingsVersionOf(monitor: Monitor, { agentIds, parents }: Related): string {
  const { enabled: _enabled, ...settings } = namedSettings(monitor);
  // Secrets are sealed anew each time, so their changes show only in `checksVersion`.
  const content = [
    settings,
    monitor.checkSpec,
    monitor.checksVersion,
    agentIds.toSorted(),
    ...(parents.length > 0 ? [parents] : []),
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, VERSION_LENGTH);
}

/** Returns a monitor in the response to POST and PATCH. */
export function presentMonitorState(monitor: Monitor): Schemas['MonitorState'] {
  return { id: monitor.id, status: statusOf(monitor.state) };
}

function presentCheckSpec({ checkSpec }: Monitor, canWrite: boolean): Schemas['CheckSpec'] {
  const { heartbeat, dns, ...rest } = checkSpec;
  const { token: _token, ...withoutToken } = heartbeat ?? {};
  return {
    ...rest,
    ...(heartbeat && { heartbeat: canWrite ? heartbeat : withoutToken }),
    // Stored records were validated against the description's values when they were written.
    ...(dns && { dns: dns as NonNullable<Schemas['CheckSpec']['dns']> }),
  };
}
