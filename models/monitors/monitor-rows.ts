import type { Dependency } from '../../core/checks/vendor/dependencies.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { Monitor, MonitorSecrets } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';
import type { MonitorColumns } from '../orm.ts';
import type { Run } from '../sql.ts';

/** A monitor with its secrets in clear, its sources and the monitors that it depends on. */
export type WholeMonitor = {
  monitor: Monitor;
  secrets: MonitorSecrets;
  agentIds: string[];
  parents: readonly Parent[];
};

/** A monitor with the fields that lists show. */
export type ListedMonitor = Pick<Monitor, (typeof LISTED)[number]>;

/** Names of the fields that lists show. */
export const LISTED = [
  'id',
  'name',
  'type',
  'target',
  'intervalSeconds',
  'timeoutMs',
  'method',
  'expectedStatus',
  'bodyMatch',
  'followRedirects',
  'downAfterFailures',
  'upAfterSuccesses',
  'downMinSources',
  'heartbeatGraceSeconds',
  'slaTarget',
  'sla',
  'reopenSeconds',
  'monthlyDrill',
  'tags',
  'state',
  'enabled',
  'stateSinceMs',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof Monitor)[];

/** Fields of a row that lists do not show. */
const UNLISTED = {
  no: true,
  tenantId: true,
  checkSpec: true,
  sealedSecrets: true,
  checksVersion: true,
  stateSince: true,
  sequence: true,
  awaitsSources: true,
} satisfies Record<Exclude<keyof MonitorColumns, (typeof LISTED)[number]>, true>;

/** Every field of a row. */
export const COLUMNS = [
  ...LISTED.filter((name) => name !== 'stateSinceMs'),
  ...(Object.keys(UNLISTED) as (keyof typeof UNLISTED)[]),
];

/** Returns the columns of these fields, named by them. */
export function selectList(names: readonly string[]): string {
  return names.map((name) => `${columnOf(name)} AS "${name}"`).join(', ');
}

/** Returns the column of a field. */
export function columnOf(name: string): string {
  return name === 'stateSinceMs' ? 'state_since' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts a row to a monitor. */
export function monitorOf({
  sealedSecrets: _sealed,
  stateSince,
  sequence: _sequence,
  ...rest
}: MonitorColumns): Monitor {
  return { ...rest, stateSinceMs: stateSince };
}

/** Seals a monitor's secrets for its row; null if there are none. */
export function sealSecrets(database: Database, id: string, secrets: MonitorSecrets): string | null {
  return Object.keys(secrets).length === 0 ? null : database.secrets.seal(JSON.stringify(secrets), secretsContext(id));
}

/** Decrypts the secrets of a row. */
export function openSecrets(
  database: Database,
  { id, sealedSecrets }: Pick<MonitorColumns, 'id' | 'sealedSecrets'>,
): MonitorSecrets {
  return sealedSecrets === null ? {} : JSON.parse(database.secrets.open(sealedSecrets, secretsContext(id)));
}

/** Returns the context that a monitor's secrets are sealed with. */
export function secretsContext(monitorId: string): string {
  return `monitor:${monitorId}:secrets`;
}

/**
 * Returns the vendor monitors with those ids in their current state, by id; deleted ones are absent. Nothing is locked:
 * their state is reported, not decided.
 */
export async function findDependencies(run: Run, ids: readonly string[]): Promise<Map<string, Dependency>> {
  const rows = await run<Dependency>(
    `SELECT id, name, state FROM monitors WHERE id = ANY($1::text[]) AND type = 'vendor'`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
