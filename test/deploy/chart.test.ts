import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { Ajv } from 'ajv';
import test, { type ExecutionContext } from 'ava';
import { load, loadAll } from 'js-yaml';
import { PROCESSES } from '../../cli/commands/processes.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { isInstalled, runCommand } from '../helpers/command.ts';
import { ROOT } from '../helpers/program.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
};
type Labels = Record<string, string>;
type Container = {
  args: string[];
  env: { name: string; value: string }[];
  envFrom: unknown[];
  volumeMounts?: unknown;
  resources: { requests: Labels };
};
type Pod = {
  metadata: { labels: Labels };
  spec: { containers: Container[]; securityContext: object; volumes?: { name: string }[] };
};

const CHART = join(ROOT, 'deploy', 'helm');
/** Oldest and newest Kubernetes version for which the chart is rendered. */
const KUBERNETES = ['1.27.0', '1.36.0'];
/** Values for the minimal set-up, with nothing but the Secret, and for everything that can be enabled. */
const CASES: Readonly<Record<string, readonly string[]>> = {
  plain: [],
  keda: [
    'web.ingress.enabled=true',
    'web.ingress.tlsSecret=tls',
    'check.autoscaling.enabled=true',
    'podMonitor.enabled=true',
    'podMonitor.rules=true',
    'podMonitor.ruleLabels.release=prometheus',
    'check.regions[0].name=paris',
    'check.regions[0].replicas=3',
    'check.regions[1].name=tokyo',
    'check.regions[1].replicas=1',
    'config.PUBLIC_URL=https://status.example.com',
  ],
  hpa: ['check.autoscaling.enabled=true', 'check.autoscaling.kind=hpa'],
};

const read = (name: string) => readFile(join(CHART, name), 'utf8');
const values = load(await read('values.yaml')) as Record<string, unknown>;

test('the chart has the version of the service', async (t) => {
  const { version, appVersion } = load(await read('Chart.yaml')) as Record<string, string>;
  t.deepEqual({ version, appVersion }, { version: packageJson.version, appVersion: packageJson.version });
});

test('the values match the schema, which rejects invalid ones', async (t) => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(await read('values.schema.json')) as object);
  t.true(validate(values), JSON.stringify(validate.errors));
  const { check } = values as { check: Record<string, unknown> };
  const regions = (...names: string[]) => ({
    check: { ...check, regions: names.map((name) => ({ name, replicas: 1 })) },
  });
  t.true(validate({ ...values, ...regions('paris', 'tokyo') }));
  for (const bad of [
    regions(),
    regions('Paris'),
    regions('service'),
    { config: { SECRET_KEYS: 'k1:...' } },
    { config: { AGENT_REGION: 'paris' } },
    { evaluate: { replicas: -1, resources: { requests: {} } } },
    { evaluate: { replicas: 1, resources: { requests: { memory: 'much' } } } },
    { replicas: 3 },
  ])
    t.false(validate({ ...values, ...bad }), JSON.stringify(bad));
});

test('templates use only existing values', async (t) => {
  const used = new Set<string>();
  for (const name of await readdir(join(CHART, 'templates')))
    for (const [, path = ''] of (await read(join('templates', name))).matchAll(/\.Values\.(\w+(?:\.\w+)*)/g))
      used.add(path);
  t.true(used.size > 30);
  for (const path of used) {
    let value: unknown = values;
    for (const part of path.split('.')) {
      t.true(typeof value === 'object' && value !== null && part in value, path);
      value = (value as Record<string, unknown>)[part];
    }
  }
});

async function render(t: ExecutionContext, [version, ...set]: readonly string[]): Promise<Manifest[]> {
  const { status, stdout, stderr } = await runCommand(
    [
      'helm',
      'template',
      'status',
      CHART,
      '--namespace=monitoring',
      `--kube-version=${version}`,
      ...['existingSecret=spotcheck', ...set].map((value) => `--set=${value}`),
    ],
    {},
  );
  t.is(status, 0, stderr);
  return loadAll(stdout).filter((document): document is Manifest => document !== null && document !== undefined);
}

const podOf = ({ spec }: Manifest): Pod => (spec as { template: Pod }).template;
const regionsOf = (name: string): readonly string[] => (name === 'keda' ? ['paris', 'tokyo'] : ['local']);

if (isInstalled('helm')) {
  test('helm lint passes, and rendering requires existingSecret', async (t) => {
    const lint = await runCommand(['helm', 'lint', '--strict', '--set=existingSecret=spotcheck', CHART], {});
    t.is(lint.status, 0, lint.stdout + lint.stderr);
    const bare = await runCommand(['helm', 'template', 'status', CHART, '--kube-version=1.36.0'], {});
    t.regex(bare.stderr, /existingSecret is required/);
  });

  for (const [name, set] of Object.entries(CASES))
    test(`${name}: each role and region has a confined Deployment with known variables only`, async (t) => {
      const known = new Set(Object.keys(parseEnv(await readFile(join(ROOT, '.env.example'), 'utf8'))));
      for (const version of KUBERNETES) {
        const manifests = await render(t, [version, ...set]);
        const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
        const roles = Object.keys(PROCESSES).flatMap((role) =>
          role === 'check' ? regionsOf(name).map((region) => `check-${region}`) : [role],
        );
        t.deepEqual(
          deployments.map(({ metadata }) => metadata.name.replace('status-', '')).toSorted(),
          roles.toSorted(),
        );
        const hook = manifests.find(({ kind }) => kind === 'Job');
        t.like(hook?.metadata.annotations, { 'helm.sh/hook': 'pre-install,pre-upgrade' });
        for (const workload of [...deployments, ...(hook === undefined ? [] : [hook])]) {
          const { metadata, spec } = podOf(workload);
          t.like(spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
          const [container] = spec.containers;
          t.like(container, {
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
            envFrom: [{ secretRef: { name: 'spotcheck' } }],
          });
          t.is(container?.args[0], metadata.labels['spotcheck/role']?.replace('release', 'migrate'));
          t.truthy(container?.resources.requests['memory']);
          for (const variable of container?.env ?? []) t.true(known.has(variable.name), variable.name);
        }
        const isScaled = name !== 'plain';
        const scalers = manifests.filter(({ kind }) => /^(ScaledObject|HorizontalPodAutoscaler)$/.test(kind));
        t.deepEqual(
          scalers.map(({ metadata }) => metadata.name),
          isScaled ? regionsOf(name).map((region) => `status-check-${region}`) : [],
        );
        for (const { metadata, spec } of deployments)
          t.is('replicas' in spec, !(isScaled && metadata.name.startsWith('status-check-')), metadata.name);
      }
    });

  test('the PrometheusRule has the alerts of deploy/prometheus', async (t) => {
    const manifests = await render(t, ['1.36.0', ...(CASES['keda'] ?? [])]);
    const rules = manifests.find(({ kind }) => kind === 'PrometheusRule');
    t.deepEqual(rules?.spec, load(await readFile(join(ROOT, 'deploy', 'prometheus', 'rules.yaml'), 'utf8')) as object);
    t.like(rules, { metadata: { labels: { release: 'prometheus' } } });
  });

  test('every pod has one disruption budget, one ingress policy and one egress policy', async (t) => {
    const manifests = await render(t, ['1.36.0', ...(CASES['keda'] ?? [])]);
    const pods = manifests.filter(({ kind }) => kind === 'Deployment').map((one) => podOf(one).metadata.labels);
    for (const labels of pods) {
      const budgets = manifests.filter(
        ({ kind, spec }) => kind === 'PodDisruptionBudget' && selects(spec['selector'], labels),
      );
      t.is(budgets.length, 1);
      const policies = manifests.filter(
        ({ kind, spec }) => kind === 'NetworkPolicy' && selects(spec['podSelector'], labels),
      );
      const types = policies.flatMap(({ spec }) => spec['policyTypes'] as string[]);
      t.deepEqual(types.toSorted(), ['Egress', 'Ingress'], JSON.stringify(labels));
    }
    const service = manifests.find(({ kind }) => kind === 'Service');
    t.is(pods.filter((labels) => selects({ matchLabels: service?.spec['selector'] }, labels)).length, 1);
  });

  test('a certificate authority is mounted in every pod, including that of the migrations', async (t) => {
    const manifests = await render(t, [
      '1.36.0',
      'extraVolumes[0].name=ca',
      'extraVolumes[0].configMap.name=company-ca',
      'extraVolumeMounts[0].name=ca',
      'extraVolumeMounts[0].mountPath=/ca',
    ]);
    const workloads = manifests.filter(({ kind }) => /^(Deployment|Job)$/.test(kind));
    t.is(workloads.length, 7);
    for (const { spec } of workloads.map(podOf)) {
      t.deepEqual(spec.volumes, [{ name: 'ca', configMap: { name: 'company-ca' } }]);
      t.deepEqual(spec.containers[0]?.volumeMounts, [{ name: 'ca', mountPath: '/ca' }]);
    }
  });

  test('checks may reach pods at any port, and database-only roles only the ports of DNS and databases', async (t) => {
    const manifests = await render(t, ['1.36.0', 'networkPolicy.dnsPorts={53,5353}']);
    const egressOf = (name: string) =>
      manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)?.spec['egress'];
    t.deepEqual((egressOf('status-reach-anywhere') as unknown[])[1], { to: [{ namespaceSelector: {} }] });
    const [rule] = egressOf('status-reach-database') as { ports: { port: number; protocol: string }[] }[];
    t.deepEqual(
      rule?.ports.map(({ port, protocol }) => `${port}/${protocol}`),
      ['53/UDP', '53/TCP', '5353/UDP', '5353/TCP', '5432/TCP', '6379/TCP'],
    );
  });

  test('the Ingress has the path of PUBLIC_URL', async (t) => {
    for (const [url, path] of [
      ['https://example.com/ops/up', '/ops/up'],
      ['https://example.com', '/'],
    ]) {
      const manifests = await render(t, ['1.36.0', 'web.ingress.enabled=true', `config.PUBLIC_URL=${url}`]);
      const ingress = manifests.find(({ kind }) => kind === 'Ingress');
      t.like(ingress?.spec, { rules: [{ http: { paths: [{ path }] } }] });
    }
  });

  test('the canary target defaults to the Service of web, which checks may always reach', async (t) => {
    const targets = async (...set: string[]) =>
      (await render(t, ['1.36.0', ...set])).flatMap((manifest) =>
        manifest.kind !== 'Deployment'
          ? []
          : (podOf(manifest).spec.containers[0]?.env ?? [])
              .filter(({ name }) => name === 'WATCH_TARGET')
              .map(({ value }) => [manifest.metadata.name, value]),
      );
    t.deepEqual(await targets('web.service.port=8080'), [['status-maintain', 'http://status-web:8080']]);
    const chosen = await targets('config.WATCH_TARGET=https://status.example.com');
    t.deepEqual([...new Set(chosen.map(([, value]) => value))], ['https://status.example.com']);

    const manifests = await render(t, ['1.36.0', 'networkPolicy.webFrom[0].ipBlock.cidr=192.0.2.0/24']);
    const policy = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'status-web');
    const [rule] = (policy?.spec['ingress'] ?? []) as { from: { podSelector?: unknown }[] }[];
    const checks = manifests.filter(({ kind, metadata }) => kind === 'Deployment' && /-check-/.test(metadata.name));
    t.is(rule?.from.length, 2);
    for (const check of checks) t.true(selects(rule?.from[1]?.podSelector, podOf(check).metadata.labels));
  });
}

type Selector = { matchLabels?: Labels; matchExpressions?: { key: string; operator: string; values: string[] }[] };

function selects(selector: unknown, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector as Selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(
      ({ key, operator, values: wanted }) => wanted.includes(labels[key] ?? '') === (operator === 'In'),
    )
  );
}

// Folder with the schemas of one version, as the Python package kubernetes-validate has them (`v1.36.0-local-strict`).
const schemas = process.env['KUBERNETES_SCHEMAS'];

if (isInstalled('helm') && isInstalled('kubeconform') && schemas !== undefined)
  test('every manifest conforms to the Kubernetes schemas, without unknown fields', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'schemas'));
    const local = async (name: string) =>
      (await readFile(join(schemas, name), 'utf8')).replaceAll('/api/_definitions.json#', '#');
    const { $defs } = JSON.parse(await local('_definitions.json')) as { $defs: unknown };
    for (const name of await readdir(schemas))
      if (/^(deployment|job|service|ingress|networkpolicy|poddisruptionbudget|horizontalpodautoscaler)-/.test(name))
        await writeFile(
          join(folder, 'schemas', name),
          JSON.stringify({ ...(JSON.parse(await local(name)) as object), $defs }),
        );
    for (const [name, set] of Object.entries(CASES)) {
      const manifests = await render(t, ['1.36.0', ...set]);
      await writeFile(join(folder, 'all.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
      const { status, stdout } = await runCommand(
        [
          'kubeconform',
          '-strict',
          '-summary',
          '-output=json',
          '-skip=ScaledObject,PodMonitor,PrometheusRule',
          `-schema-location=${folder}/schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json`,
          join(folder, 'all.json'),
        ],
        {},
      );
      t.is(status, 0, `${name}: ${stdout}`);
      t.true((JSON.parse(stdout) as { summary: { valid: number } }).summary.valid >= 18, stdout);
    }
  });
