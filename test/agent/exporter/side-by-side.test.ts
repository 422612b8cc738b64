import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { ProbeListener } from '../../../agent/exporter/listener.ts';
import { readModules } from '../../../agent/exporter/modules.ts';
import { findFreePort } from '../../../cli/embedded-postgres/start.ts';
import { createLogger } from '../../../config/logger.ts';
import { blackboxCases, blackboxModules, type BlackboxCase } from '../../helpers/blackbox-cases.ts';
import { startBlackboxServers } from '../../helpers/blackbox-targets.ts';
import { isInstalled } from '../../helpers/command.ts';
import type { Harness } from '../../helpers/harness.ts';
import { awaitDashboard, isPrometheusInstalled, startPrometheus } from '../../helpers/prometheus.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { until } from '../../helpers/until.ts';

const PROGRAM = 'prometheus-blackbox-exporter';
const hasProgram = isInstalled(PROGRAM);
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
/** Concurrent probes per exporter. */
const AT_ONCE = 8;

/** Metrics of Debian's version that do not depend on the time of the probe. */
const COMPARED = new Set([
  'probe_success',
  'probe_http_status_code',
  'probe_http_redirects',
  'probe_http_ssl',
  'probe_http_version',
  'probe_http_content_length',
  'probe_http_uncompressed_body_length',
  'probe_http_last_modified_timestamp_seconds',
  'probe_failed_due_to_regex',
  'probe_ip_protocol',
  'probe_ip_addr_hash',
  'probe_ssl_earliest_cert_expiry',
  'probe_ssl_last_chain_expiry_timestamp_seconds',
  'probe_ssl_last_chain_info',
  'probe_tls_version_info',
  'probe_dns_answer_rrs',
  'probe_dns_authority_rrs',
  'probe_dns_additional_rrs',
  'probe_dns_query_succeeded',
  'probe_dns_serial',
]);

type Answer = { success: number | undefined; compared: Record<string, number>; phases: string[]; text: string };

async function ask(port: number, { module, target, hostname }: BlackboxCase): Promise<Answer> {
  const query = new URLSearchParams({ module, target, ...(hostname !== undefined && { hostname }) });
  const text = await (await fetch(`http://127.0.0.1:${port}/probe?${query}`)).text();
  const compared: Record<string, number> = {};
  const phases: string[] = [];
  for (const [, name = '', labels = '', value] of text.matchAll(/^(\w+)(\{.*\})? (\S+)$/gm)) {
    if (labels.includes('phase=')) phases.push(name + labels);
    // Newer versions have added this label.
    if (COMPARED.has(name)) compared[name + labels.replace(/serialnumber="\w*",/, '')] = Number(value);
  }
  return { success: compared['probe_success'], compared, phases: phases.toSorted(), text };
}

async function askAll(port: number, cases: readonly BlackboxCase[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  const waiting = [...cases.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers[next[0]] = await ask(port, next[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

async function startDebian(t: Harness, file: string): Promise<number> {
  const port = await findFreePort();
  const options = [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`];
  const program = spawn(PROGRAM, options, { stdio: 'ignore' });
  t.teardown(() => void program.kill('SIGKILL'));
  await until(() =>
    fetch(`http://127.0.0.1:${port}/-/healthy`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return port;
}

const suffix = hasProgram ? '' : ` (${PROGRAM} is not installed here, so compared with its recorded results)`;

test(`more than 200 targets get the same probe_success as from blackbox_exporter${suffix}`, async (t) => {
  const servers = await startBlackboxServers(t);
  const folder = await temporaryFolder(t);
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, servers.authority.pem);
  // JSON is a subset of YAML.
  const yaml = JSON.stringify({ modules: blackboxModules(caFile) });
  const file = join(folder, 'blackbox.yml');
  await writeFile(file, yaml);
  const cases = await blackboxCases(t, servers, hasIpv6);
  t.true(cases.length >= 200);

  const listener = new ProbeListener({
    host: '127.0.0.1',
    port: 0,
    modules: readModules(yaml, (fields, name) => (fields.text(name) === null ? null : servers.authority.pem)),
    allowPrivateNetwork: true,
    token: null,
    concurrency: 100,
    log: createLogger({ process: 'agent', level: 'silent' }),
  });
  const port = await listener.start();
  t.teardown(() => listener.stop(0));
  const ours = await askAll(port, cases);
  const theirs = hasProgram ? await askAll(await startDebian(t, file), cases) : null;
  const differences = cases.flatMap(({ module, target, isSuccess }, index) => {
    const wanted = isSuccess ? 1 : 0;
    const [mine, other] = [ours[index], theirs?.[index] ?? null];
    const name = `${module} ${target}`;
    const found = [mine?.success === wanted ? [] : `${name}: expected ${wanted}\n${mine?.text}`];
    if (other !== null) {
      if (other.success !== wanted) found.push(`${name}: blackbox_exporter found ${other.success}\n${other.text}`);
      for (const key of ['compared', 'phases'] as const)
        if (!isDeepStrictEqual(mine?.[key], other[key]))
          found.push(`${name}: ${JSON.stringify(mine?.[key])}, there ${JSON.stringify(other[key])}`);
    }
    return found.flat();
  });
  t.deepEqual(differences, []);
  if (isPrometheusInstalled()) await showDashboard(t, port, cases);
  if (!isInstalled('promtool')) return;
  for (const module of ['http_trusting', 'tcp_starttls', 'dns_SOA', 'icmp']) {
    const text = ours[cases.findIndex((one) => one.module === module)]?.text ?? '';
    const { stderr, stdout, status } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    t.deepEqual({ stderr, stdout, status }, { stderr: '', stdout: '', status: 0 }, text);
  }
});

/** Lets Prometheus scrape targets as docs/probe.md describes, one module per job, and renders the dashboard. */
async function showDashboard(t: Harness, port: number, cases: readonly BlackboxCase[]): Promise<void> {
  const scrapes = ['http_trusting', 'tcp_connect', 'dns_SOA', 'icmp'].map((module) => ({
    job_name: module,
    metrics_path: '/probe',
    params: { module: [module] },
    static_configs: [{ targets: [cases.find((one) => one.module === module && one.isSuccess)?.target] }],
    relabel_configs: [
      { source_labels: ['__address__'], target_label: '__param_target' },
      { source_labels: ['__param_target'], target_label: 'instance' },
      { target_label: '__address__', replacement: `127.0.0.1:${port}` },
    ],
  }));
  await awaitDashboard(await startPrometheus(t, { scrapes, everySeconds: 1 }), 'probe');
}
