import test from 'ava';
import { systemAuthorOf, systemActor } from '../../../models/accounts/audit-log.ts';
import { createHeartbeats, type NewHeartbeat } from '../../../models/heartbeats/slugs.ts';
import { openTestRuntime, SETTINGS, type TestRuntime } from '../../helpers/runtime.ts';

function heartbeatOf({ newId }: TestRuntime, slug: string): NewHeartbeat {
  const id = newId('mon');
  const checkSpec = { heartbeat: { token: `${id}.secret-of-${slug}`, slug } };
  const settings = {
    ...SETTINGS,
    name: slug,
    type: 'heartbeat',
    target: '',
    heartbeatGraceSeconds: 60,
    checkSpec,
  } as const;
  return {
    id,
    slug,
    settings,
    author: systemAuthorOf(systemActor('Ping key'), 'monitor.created', { newId, nowMs: 1000 }),
  };
}

test('processes that create slugs concurrently create each once, agree on its token and keep the limit', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId } = runtime;
  const slugs = Array.from({ length: 20 }, (_, no) => `job-${no}`);
  const make = (named: readonly string[]) =>
    createHeartbeats(
      database,
      { tenantId, wanted: named.map((slug) => heartbeatOf(runtime, slug)), nowMs: Date.now() },
      15,
    );
  const made = await Promise.all([make(slugs), make(slugs.toReversed()), make(slugs), make(slugs.slice(5))]);
  const [first = new Map<string, string>()] = made;
  t.is(first.size, 15);
  const { rows } = await database.pool.query<{ slug: string; token: string }>(
    `SELECT s.slug, m.check_spec -> 'heartbeat' ->> 'token' AS token FROM heartbeat_slugs s
     JOIN monitors m ON m.no = s.monitor_no JOIN heartbeats h ON h.monitor_no = m.no
     JOIN monitor_sources o ON o.monitor_no = m.no`,
  );
  t.is(rows.length, 15);
  const stored = new Map(rows.map(({ slug, token }) => [slug, token]));
  for (const tokens of made) for (const [slug, token] of tokens) t.true(token === stored.get(slug), slug);
  const { rows: counted } = await database.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM monitors');
  t.is(counted[0]?.count, 15);
});
