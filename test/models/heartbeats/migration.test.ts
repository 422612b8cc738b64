import { readFile } from 'node:fs/promises';
import test from 'ava';
import { takePings } from '../../../models/heartbeats/heartbeats.ts';
import { addHeartbeat, SUCCESS } from '../../helpers/heartbeats.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test(
  'heartbeats that were made before pings were taken get a token that names them, and a first deadline unless they ' +
    'are paused',
  async (t) => {
    const runtime = await openTestRuntime(t);
    const { pool } = runtime.database;
    const [running, paused] = [
      await addHeartbeat(runtime, Date.now()),
      await addHeartbeat(runtime, Date.now(), { heartbeat: { maxDurationSeconds: 20, failEnabled: false } }),
    ];
    await pool.query('DROP TABLE heartbeat_observations, heartbeat_pings, heartbeats');
    await pool.query(
      `UPDATE monitors SET check_spec = jsonb_set(check_spec, '{heartbeat,token}', '"old-secret"'), enabled = no <> $1`,
      [paused.monitor.no],
    );

    for (const name of ['0007-heartbeats', '0027-ping-rates'])
      await pool.query(await readFile(new URL(`../../../models/migrations/${name}.sql`, import.meta.url), 'utf8'));

    const outcomes = await takePings(
      runtime.database,
      [running, paused].map(({ monitor }) => ({ token: `${monitor.id}.old-secret`, ping: SUCCESS })),
      Date.now(),
    );
    t.deepEqual(outcomes, ['taken', 'taken']);
    const { rows } = await pool.query(
      'SELECT is_paused, fail_enabled, max_duration_seconds, grace_seconds, deadline_at IS NOT NULL AS waits FROM ' +
        'heartbeats ORDER BY monitor_no',
    );
    t.deepEqual(rows, [
      { is_paused: false, fail_enabled: true, max_duration_seconds: null, grace_seconds: 30, waits: true },
      { is_paused: true, fail_enabled: false, max_duration_seconds: 20, grace_seconds: 30, waits: false },
    ]);
  },
);
