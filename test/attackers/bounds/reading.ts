import { isError } from '../../api/api-server.ts';
import { made, statusesOf, thenRefused, type Walker } from './walker.ts';

const exports: Walker = async (t) => {
  const { api } = t.context;
  const [{ owner, reader }, other] = [await api.account(), await api.account()];
  const pathOf = async (call: typeof owner) =>
    `/v1/monitors/${await made(call('POST', '/v1/monitors', { name: 'x' }))}/checks?format=csv` as const;
  const [path, another] = [await pathOf(owner), await pathOf(owner)];
  t.deepEqual(await statusesOf(11, (no) => reader('GET', no % 2 === 0 ? path : another)), thenRefused(10, 200, 429));
  t.is((await other.reader('GET', await pathOf(other.owner))).status, 200);
};

const slas: Walker = async (t) => {
  const { api } = t.context;
  const [{ owner, reader, tenantId }, other] = [await api.account(), await api.account()];
  const id = await made(owner('POST', '/v1/monitors', { name: 'x', tags: ['one'] }));
  const { pool } = api.database;
  await pool.query('UPDATE monitors SET created_at = created_at - 86400 WHERE id = $1', [id]);
  await pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at, tags)
     SELECT 'mon_sla_' || i, tenant_id, name, type, 60, 1000, true,
       1, 1, 1, state_since, created_at, updated_at, '{many}'
     FROM monitors, generate_series(1, 1001) AS i (i) WHERE id = $1`,
    [id],
  );
  await pool.query(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
     SELECT $1, no, $2, 'up', 'down', $3::bigint - no * 1000, $3::bigint - no * 1000, '{}'
     FROM generate_series(1, 10000) AS no`,
    [id, tenantId, Date.now()],
  );
  isError(t, await reader('GET', '/v1/sla?tag=many'), {
    status: 400,
    error: 'tag must choose at most 1000 monitors, got more: repeat it to narrow them',
  });
  isError(t, await reader('GET', '/v1/sla?tag=one'), {
    status: 400,
    error:
      'from must be later, or tag must choose fewer monitors: these changed, or were in maintenance, more often in ' +
      'the window than is counted at once',
  });
  const from = Math.floor(Date.now() / 1000) - 3600;
  t.deepEqual(await statusesOf(29, () => reader('GET', `/v1/sla?tag=one&from=${from}`)), thenRefused(28, 200, 429));
  t.is((await reader('GET', `/v1/sla?tag=one&from=${from}&hours=${'Mo 08:00-09:00;'.repeat(14)}`)).status, 400);
  t.is((await other.reader('GET', `/v1/sla?tag=one`)).status, 200);
};

const manyChanges: Walker = async (t) => {
  const { api } = t.context;
  const { owner, reader, tenantId } = await api.account();
  const id = await made(owner('POST', '/v1/monitors', { name: 'x' }));
  const dayMs = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  await api.database.pool.query(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
     SELECT $1, no, $2, 'up', 'down', $3::bigint - no * 1000, $3::bigint - no * 1000, '{}'
     FROM generate_series(1, 10001) AS no`,
    [id, tenantId, dayMs],
  );
  const paths = [`/v1/monitors/${id}/uptime?days=7`, `/v1/monitors/${id}/stats?from=${dayMs / 1000 - 86_400}`] as const;
  t.deepEqual(await statusesOf(31, (no) => reader('GET', paths[no % 2] ?? paths[0])), thenRefused(30, 200, 429));
  t.is((await reader('GET', `/v1/monitors/${id}/uptime?days=1`)).status, 200);
};

const muchMaintenance: Walker = async (t) => {
  const { api } = t.context;
  const { owner, reader, tenantId } = await api.account();
  const id = await made(owner('POST', '/v1/monitors', { name: 'x' }));
  const dayMs = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  await api.database.pool.query(
    `WITH o AS (
       INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, covered_at)
       SELECT 'mnt_x', $2, 'x', 'x' || no, $3::bigint - no * 2000, $3::bigint - no * 2000 + 1000, true, '{}', '{}',
         'hold', 'exclude', 0, 0
       FROM generate_series(1, 10001) AS no RETURNING no, starts_at, ends_at
     )
     INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
     SELECT m.no, o.no, o.starts_at, o.ends_at FROM o, monitors m WHERE m.id = $1`,
    [id, tenantId, dayMs],
  );
  const paths = [`/v1/monitors/${id}/uptime?days=7`, `/v1/monitors/${id}/stats?from=${dayMs / 1000 - 86_400}`] as const;
  t.deepEqual(await statusesOf(31, (no) => reader('GET', paths[no % 2] ?? paths[0])), thenRefused(30, 200, 429));
};

const metrics: Walker = async (t) => {
  const { api } = t.context;
  const [{ owner, reader }, other] = [await api.account(), await api.account()];
  await made(
    owner('POST', '/v1/monitors', {
      name: 'x',
      target: `https://shop.example/${'p'.repeat(1500)}`,
      tags: Array.from({ length: 20 }, (_, no) => `t${no}:${'v'.repeat(64)}`),
    }),
  );
  const { text } = await reader('GET', '/v1/metrics');
  const labels = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  t.true(labels.length > 5);
  for (const [, name = '', value = ''] of labels) t.true(value.length <= (name === 'tags' ? 1024 : 256), name);
  t.true(text.length < 20 * 2500);
  t.deepEqual(await statusesOf(120, () => reader('GET', '/v1/metrics')), thenRefused(119, 200, 429));
  t.is((await other.reader('GET', '/v1/metrics')).status, 200);
};

export const READING_WALKERS: Readonly<Record<string, Walker>> = {
  'exports of results': exports,
  'SLAs of tags': slas,
  'statistics of many changes': async (t) => {
    await manyChanges(t);
    await muchMaintenance(t);
  },
  'metrics of monitors': metrics,
};
