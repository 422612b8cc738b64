import { createHash } from 'node:crypto';
import type { Inability } from '../../core/agents/wire.ts';
import { writeZonedMoment } from '../../core/heartbeats/schedule.ts';
import { statusOf } from '../../core/incidents/state.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { namedSettings } from '../../core/monitors/named-settings.ts';
import { readMutes } from '../../models/alerts/mutes.ts';
import type { Database } from '../../models/database.ts';
import { readExpectedPings, type ExpectedPing } from '../../models/heartbeats/heartbeats.ts';
import { readCurrentMaintenance, type CurrentMaintenance } from '../../models/maintenance/maintenance-times.ts';
import type { ListedMonitor } from '../../models/monitors/monitor-rows.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/**
 * What is read beside the settings of a monitor, each absent where there is none. The maintenance that it is in, until
 * when it is muted (Unix milliseconds), and when the next ping of a heartbeat is expected.
 */
export type CurrentFacts = {
  maintenance?: CurrentMaintenance | undefined;
  mutedUntilMs?: number | undefined;
  expected?: ExpectedPing | undefined;
};

/** Which monitors: all of a tenant, or these; `hasHeartbeats` is false where none of them waits for pings. */
type FactsQuery = ({ tenantId: string } | { monitorIds: readonly string[] }) & {
  nowMs: number;
  hasHeartbeats: boolean;
};

/** Reads what monitors are in and wait for now; the function that is returned gives it by a monitor's id. */
export async function readCurrentFacts(
  database: Database,
  { hasHeartbeats, ...query }: FactsQuery,
): Promise<(monitorId: string) => CurrentFacts> {
  const maintenance = await readCurrentMaintenance(database, query);
  const mutes = await readMutes(database, query);
  const expected = hasHeartbeats ? await readExpectedPings(database, query) : new Map();
  return (id) => ({ maintenance: maintenance.get(id), mutedUntilMs: mutes.get(id), expected: expected.get(id) });
}

/** True where one of these monitors waits for pings. */
export function haveHeartbeats(monitors: readonly { type: string }[]): boolean {
  return monitors.some(({ type }) => type === 'heartbeat');
}

/** A monitor as lists show it, with what it is in and waits for now. */
export function presentMonitor(
  monitor: ListedMonitor,
  { maintenance, mutedUntilMs, expected }: CurrentFacts,
): Schemas['Monitor'] {
  return {
    id: monitor.id,
    ...namedSettings(monitor),
    status: statusOf(monitor.state),
    maintenance: maintenance ?? null,
    ...(mutedUntilMs !== undefined && { muted_until: Math.floor(mutedUntilMs / 1000) }),
    ...(monitor.type === 'heartbeat' && {
      next_expected: expected === undefined ? null : writeZonedMoment(expected.atMs, expected.timezone),
    }),
    state_since: Math.floor(monitor.stateSinceMs / 1000),
    created_at: monitor.createdAt,
    updated_at: monitor.updatedAt,
  };
}

/** Who probes a monitor, and which of them cannot. */
type MonitorSources = { agentIds: readonly string[]; unable: readonly { id: string; reason: Inability }[] };

/** What a monitor has beside its row: who probes it, and the monitors that it depends on. */
type Surroundings = { agentIds: readonly string[]; parents: readonly Parent[] };

/**
 * A monitor as its own read shows it. A heartbeat's token lets anyone ping, so only callers who may write see it
 * (D-17).
 */
export function presentMonitorDetail(
  monitor: Monitor,
  { agentIds, unable, parents, ...facts }: MonitorSources & Surroundings & CurrentFacts,
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

/** The characters of a settings version: 96 bits. */
const VERSION_LENGTH = 16;

/**
 * Identifies a monitor's settings, sources and secrets, so that a change made from an older read is refused. Pausing is
 * no change of settings.
 */
export function settingsVersionOf(monitor: Monitor, { agentIds, parents }: Surroundings): string {
  const { enabled: _enabled, ...settings } = namedSettings(monitor);
  // A change of secrets, which are sealed anew each time, shows in the version of what is checked.
  const content = [
    settings,
    monitor.checkSpec,
    monitor.checksVersion,
    agentIds.toSorted(),
    ...(parents.length > 0 ? [parents] : []),
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, VERSION_LENGTH);
}

/** What POST and PATCH answer. */
export function presentMonitorState(monitor: Monitor): Schemas['MonitorState'] {
  return { id: monitor.id, status: statusOf(monitor.state) };
}

function presentCheckSpec({ checkSpec }: Monitor, canWrite: boolean): Schemas['CheckSpec'] {
  const { heartbeat, dns, ...rest } = checkSpec;
  const { token: _token, ...withoutToken } = heartbeat ?? {};
  return {
    ...rest,
    ...(heartbeat && { heartbeat: canWrite ? heartbeat : withoutToken }),
    // Stored records were checked against the words of the description when they were written.
    ...(dns && { dns: dns as NonNullable<Schemas['CheckSpec']['dns']> }),
  };
}
