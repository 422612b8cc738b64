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

/** What lists show of a monitor. */
export type ListedMonitor = Pick<Monitor, (typeof LISTED)[number]>;

/** What lists show, by its names. */
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

/** What a row holds beside what lists show. */
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

/** Columns by the names of their fields. */
export function selectList(names: readonly string[]): string {
  return names.map((name) => `${columnOf(name)} AS "${name}"`).join(', ');
}

/** The column of a field. */
export function columnOf(name: string): string {
  return name === 'stateSinceMs' ? 'state_since' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A monitor of its row. */
export function monitorOf({
  sealedSecrets: _sealed,
  stateSince,
  sequence: _sequence,
  ...rest
}: MonitorColumns): Monitor {
  return { ...rest, stateSinceMs: stateSince };
}

/** Sealed as the row holds them; null for none. */
export function sealSecrets(database: Database, id: string, secrets: MonitorSecrets): string | null {
  return Object.keys(secrets).length === 0 ? null : database.secrets.seal(JSON.stringify(secrets), secretsContext(id));
}

/** The secrets of a row in clear. */
export function openSecrets(
  database: Database,
  { id, sealedSecrets }: Pick<MonitorColumns, 'id' | 'sealedSecrets'>,
): MonitorSecrets {
  return sealedSecrets === null ? {} : JSON.parse(database.secrets.open(sealedSecrets, secretsContext(id)));
}

/** The row and field that a monitor's sealed secrets are bound to. */
export function secretsContext(monitorId: string): string {
  return `monitor:${monitorId}:secrets`;
}

/**
 * The vendor monitors of those ids as they stand, by id; deleted ones are absent. Nothing is locked: their state is
 * reported, not decided.
 */
export async function findDependencies(run: Run, ids: readonly string[]): Promise<Map<string, Dependency>> {
  const rows = await run<Dependency>(
    `SELECT id, name, state FROM monitors WHERE id = ANY($1::text[]) AND type = 'vendor'`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
