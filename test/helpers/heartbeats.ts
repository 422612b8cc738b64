import { randomBytes } from 'node:crypto';
import type { Ping } from '../../core/heartbeats/deadlines.ts';
import type { CheckSpec, Monitor, MonitorSettings } from '../../core/monitors/monitor.ts';
import { createMonitor } from '../../models/monitors/monitor-changes.ts';
import { SETTINGS, type TestRuntime } from './runtime.ts';

/** A heartbeat and its ping token. */
export type TestHeartbeat = { monitor: Monitor; token: string };

export const SUCCESS: Ping = { kind: 'success', exitStatus: null, body: null };
export const START: Ping = { kind: 'start', exitStatus: null, body: null };
export const FAIL: Ping = { kind: 'fail', exitStatus: null, body: null };

/** Creates a heartbeat at `nowMs` that expects a ping every 60 s, at most 30 s late, unless overridden. */
export async function addHeartbeat(
  runtime: TestRuntime,
  nowMs: number,
  {
    heartbeat,
    ...settings
  }: Partial<MonitorSettings> & { heartbeat?: Omit<NonNullable<CheckSpec['heartbeat']>, 'token'> } = {},
): Promise<TestHeartbeat> {
  const id = runtime.newId('mon');
  const token = `${id}.${randomBytes(18).toString('base64url')}`;
  const created = await createMonitor(
    runtime.database,
    {
      id,
      tenantId: runtime.tenantId,
      settings: {
        ...SETTINGS,
        name: 'Backup',
        type: 'heartbeat',
        target: '',
        heartbeatGraceSeconds: 30,
        ...settings,
        checkSpec: { heartbeat: { ...heartbeat, token } },
      },
      secrets: {},
      agentIds: [],
      nowMs,
      author: null,
    },
    null,
  );
  if (created === null) throw new Error('The heartbeat was not created');
  return { monitor: created.monitor, token };
}
