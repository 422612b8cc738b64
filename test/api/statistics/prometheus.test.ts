import { spawnSync } from 'node:child_process';
import anyTest, { type TestFn } from 'ava';
import { MINUTE_MS } from '../../../core/time.ts';
import {
  accountScrape,
  awaitDashboard,
  awaitSamples,
  isPrometheusInstalled,
  startPrometheus,
} from '../../helpers/prometheus.ts';
import { until } from '../../helpers/until.ts';
import { withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addMonitor, addResults, addTransitions, listAgentIds } from './measured-monitor.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
let aheadMs = 0;
withApiServer(test, { now: () => Date.now() + aheadMs });

/** Queries of public dashboards for blackbox_exporter (grafana.com 7587 and 13659), for all instances of a job. */
const DASHBOARD_QUERIES = [
  'probe_success{job=~".+", instance=~".+"}',
  'avg by (instance) (probe_duration_seconds)',
  'sum by (instance, phase) (probe_http_duration_seconds)',
  'probe_http_status_code > 0',
  'probe_http_version',
  'probe_http_ssl == 1',
  'probe_ssl_earliest_cert_expiry - time() > 0',
  'avg by (instance) (probe_dns_lookup_time_seconds)',
];

// Debian's `prometheus`; `.ci/run` installs it.
if (isPrometheusInstalled()) {
  test('Prometheus scrapes the metrics, blackbox_exporter dashboards work, and deleted monitors end', async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const [kept, deleted] = [await addChecked(api, account, 1), await addChecked(api, account, 3)];
    const { text } = await account.reader('GET', '/v1/metrics');
    const linted = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    t.is(linted.status, 0, linted.stderr);
    const scrape = accountScrape({ url: api.url, token: account.readerToken });
    const query = await startPrometheus(t, { scrapes: [scrape], everySeconds: 1 });
    await until(async () => (await query('probe_success')).length === 2);
    await awaitSamples(query, DASHBOARD_QUERIES);
    await awaitDashboard(query, 'monitors');
    const [sample] = await until(async () => {
      const samples = await query(`probe_success{monitor_id="${kept}"}`);
      return samples.length === 1 && samples;
    });
    t.like(sample?.metric, {
      instance: 'https://shop.example',
      monitor: 'Shop',
      source: 'frankfurt',
      job: 'spotcheck',
      tags: ',env:prod,',
    });
    t.is((await account.owner('DELETE', `/v1/monitors/${deleted}`)).status, 204);
    // The snapshot is too old now, so the next scrape creates another. The results are still recent enough for it.
    aheadMs += MINUTE_MS + 1000;
    await until(
      async () => (await query('probe_success')).map(({ metric }) => metric['monitor_id']).join(',') === kept,
    );
  });
} else {
  test('Prometheus is not installed here, so it was not tried', (t) => t.pass());
}

/** Adds a monitor that was up for an hour and whose newest check has this verdict. */
async function addChecked(api: ApiServer, account: Account, verdict: 1 | 3): Promise<string> {
  const [agentId = ''] = await listAgentIds(api);
  const { id, no } = await addMonitor(api, account, {
    createdAtMs: Date.now() - 60 * MINUTE_MS,
    body: { agent_sources: [agentId], tags: ['env:prod'], sla_target: 99 },
  });
  const upSince = [Date.now() - 60 * MINUTE_MS, 'up'] as const;
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [[...upSince]]);
  const detail = { phases: '3 5 7 9 1' };
  await addResults(api, no, [{ atMs: Date.now() - 2000, agentId, verdict, httpStatus: 200, detail }]);
  await api.database.pool.query(
    `INSERT INTO certificates (monitor_no, agent_no, target, name, expires_at)
     SELECT m.no, a.no, m.target, 'shop.example', $3 FROM monitors m, agents a WHERE m.id = $1 AND a.id = $2`,
    [id, agentId, Math.floor(Date.now() / 1000) + 86_400],
  );
  return id;
}
