import anyTest, { type TestFn } from 'ava';
import type { components } from '../../../api/schema.generated.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('each location of a monitor shows whether its vote counts, and if not, why', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const { rows: agents } = await api.database.pool.query<{ id: string; no: number; region: string }>(
    `SELECT id, no, region FROM agents WHERE region = ANY('{frankfurt,hanoi,singapore,virginia}') ORDER BY id`,
  );
  t.is(agents.length, 4);
  const { json } = await owner('POST', '/v1/monitors', {
    name: 'Shop',
    target: 'https://shop.example/',
    agent_sources: agents.map(({ id }) => id),
    down_min_sources: 2,
  });
  const path = `/v1/monitors/${json['id']}/locations`;
  const [counted, offline, silent, undecided] = agents;
  const now = Math.floor(Date.now() / 1000);
  const gauge = { tripped: false, streak: [], decidedBy: [] };
  const state = { checksVersion: 1, newestAtMs: now * 1000, abstention: null, failing: gauge, impaired: gauge };
  await api.database.pool.query(
    `UPDATE monitor_sources s SET state = $2 FROM monitors m WHERE m.no = s.monitor_no AND m.id = $1
     AND s.agent_no <> $3`,
    [json['id'], JSON.stringify(state), undecided?.no],
  );
  await api.database.pool.query('UPDATE agents SET offline_at = $2, last_seen_at = $3 WHERE no = $1', [
    offline?.no,
    now * 1000,
    now - 100,
  ]);
  // The silent location's results are too old: at an interval of 60 s they count for three minutes.
  await api.database.pool.query(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, verdict)
     SELECT $3::bigint - CASE a.no WHEN $4 THEN 190000 ELSE 5000 END, m.no, a.no, 1 FROM monitors m, agents a
     WHERE m.id = $1 AND a.no = ANY($2)`,
    [json['id'], agents.map(({ no }) => no), now * 1000, silent?.no],
  );

  const { status, json: answer } = await reader('GET', path);
  t.is(status, 200);
  t.is(answer['down_min_sources'], 2);
  const locations = answer['locations'] as components['schemas']['MonitorLocations']['locations'];
  t.deepEqual(
    locations.map(({ id, status: said }) => [id, said]),
    [
      [counted?.id, 'counted'],
      [offline?.id, 'offline'],
      [silent?.id, 'silent'],
      [undecided?.id, 'undecided'],
    ],
  );
  t.like(locations[0], { region: counted?.region, last_result_at: now - 5 });
  t.like(locations[1], { last_seen_at: now - 100 });
  t.is(locations[2]?.last_result_at, null);

  const stranger = await api.account();
  isError(t, await stranger.owner('GET', path), { status: 404, error: `monitor ${json['id']} does not exist` });
  await api.database.pool.query('UPDATE agents SET offline_at = NULL WHERE no = $1', [offline?.no]);

  // A region that is being retired counts until its monitors have moved.
  await api.database.pool.query('UPDATE agents SET revoked_at = $2 WHERE no = $1', [counted?.no, now]);
  const retired = (await reader('GET', path)).json['locations'] as typeof locations;
  t.like(retired[0], { id: counted?.id, status: 'counted' });
  const { json: detail } = await owner('GET', `/v1/monitors/${json['id']}`);
  const { status: patched } = await owner('PATCH', `/v1/monitors/${json['id']}`, {
    name: 'Shop 2',
    agent_sources: detail['agent_sources'],
    down_min_sources: 2,
  });
  t.is(patched, 200);
  await api.database.pool.query('UPDATE agents SET revoked_at = NULL WHERE no = $1', [counted?.no]);
});

test('a monitor that the service checks itself has no locations', async (t) => {
  const { owner } = await t.context.api.account();
  const { json } = await owner('POST', '/v1/monitors', { name: 'Job', type: 'heartbeat' });
  t.deepEqual((await owner('GET', `/v1/monitors/${json['id']}/locations`)).json, {
    down_min_sources: 1,
    locations: [],
    last_check_at: null,
    overdue: false,
  });
});
