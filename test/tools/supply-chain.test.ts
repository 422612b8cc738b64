import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readAudit } from '../../tools/audit-report.ts';
import { isPermitted, isUsable, listLicences } from '../../tools/licence-list.ts';
import { runCommand } from '../helpers/command.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { ROOT } from '../helpers/program.ts';

type Versions = Readonly<Record<string, string>>;
type Manifest = {
  dependencies?: Versions;
  devDependencies?: Versions;
  optionalDependencies?: Versions;
  overrides?: Versions;
};
type Entry = Manifest & { version?: string; integrity?: string; resolved?: string; inBundle?: boolean; dev?: boolean };

const GROUPS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;
/** Development packages for which the lock file's registry had no files for some foreign platforms. */
const WITHOUT_CONTENTS = /^node_modules\/@ox(?:fmt|lint)\/binding-/;
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

async function readJson(path: string) {
  return JSON.parse(await readFile(join(ROOT, path), 'utf8'));
}

test('every dependency has one exact version, which the lock file holds with a hash', async (t) => {
  const manifest: Manifest = await readJson('package.json');
  const { packages }: { packages: Record<string, Entry> } = await readJson('package-lock.json');
  t.true(Object.keys(packages).length > 1);
  for (const group of GROUPS) {
    t.deepEqual(packages['']?.[group], manifest[group], group);
    for (const [name, version] of Object.entries(manifest[group] ?? {})) {
      t.regex(version, EXACT, name);
      t.is(packages[`node_modules/${name}`]?.version, version, name);
    }
  }
  for (const version of Object.values(manifest.overrides ?? {})) t.regex(version, EXACT);
  for (const [path, { integrity, resolved, inBundle = false }] of Object.entries(packages).filter(
    ([key]) => key !== '',
  )) {
    // A bundled package is covered by the hash of the package that contains it.
    if (integrity !== undefined || !(inBundle || WITHOUT_CONTENTS.test(path)))
      t.regex(integrity ?? '', /^sha(1|512)-/, path);
    // Packages come from the registry of the installing machine; none has a fixed URL.
    t.is(resolved, undefined, path);
  }
});

test('every package that production installs on any platform has a SHA-512 hash', async (t) => {
  const { packages }: { packages: Record<string, Entry> } = await readJson('package-lock.json');
  const installed = Object.entries(packages).filter(([path, { dev = false }]) => path !== '' && !dev);
  t.true(
    installed.some(([path]) => path.includes('darwin')),
    'packages of other platforms are among them',
  );
  const unknown = installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-')).map(([path]) => path);
  t.deepEqual(unknown, []);
});

for (const [expression, permitted] of [
  ['MIT', true],
  ['(MIT OR GPL-3.0)', true],
  ['MIT AND GPL-3.0', false],
  ['MIT AND (ISC OR AGPL-3.0)', true],
  ['GPL-3.0', false],
  ['SEE LICENSE IN FILE', false],
  ['MIT MIT', false],
  ['(MIT', false],
  ['', false],
] as const) {
  test(`the licence "${expression}" ${permitted ? 'may' : 'may not'} be used`, (t) =>
    t.is(isPermitted(expression), permitted));
}

test('development packages may have file-level copyleft licences, production packages may not', (t) => {
  t.true(isUsable({ licence: 'MPL-2.0', isForProduction: false }));
  t.false(isUsable({ licence: 'MPL-2.0', isForProduction: true }));
  t.false(isUsable({ licence: 'GPL-3.0', isForProduction: false }));
  t.false(isUsable({ licence: null, isForProduction: false }));
});

test('a licence is read from the lock file or the installed package, including older forms, or is null', (t) => {
  const manifests: Record<string, object> = {
    'node_modules/old': { licenses: [{ type: 'MIT' }, { type: 'GPL-2.0' }] },
    'node_modules/a/node_modules/odd': { license: { type: 'ISC' } },
  };
  const lock = {
    packages: {
      '': {},
      'node_modules/new': { version: '1.0.0', license: 'MIT', dev: true },
      'node_modules/old': { version: '1.0.0' },
      'node_modules/a/node_modules/odd': {},
      'node_modules/none': {},
    },
  };
  const found = listLicences(lock, (path) => manifests[path] ?? null);
  t.deepEqual(
    found.map(({ name, licence, isForProduction }) => [name, licence, isForProduction]),
    [
      ['new', 'MIT', false],
      ['old', 'MIT OR GPL-2.0', true],
      ['odd', 'ISC', true],
      ['none', null, true],
    ],
  );
});

test('licences are listed, and packages with a forbidden or missing one fail by name', async (t) => {
  const own = await runCommand([process.execPath, 'tools/licences.ts'], {});
  t.is(own.status, 0, own.stdout);
  t.regex(own.stdout, /^MIT: \d+ packages, \d+ of them in production: .*\bexpress@/m);
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-licences-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(
    join(folder, 'package-lock.json'),
    JSON.stringify({
      packages: {
        '': {},
        'node_modules/viral': { version: '2.0.0', license: 'GPL-3.0' },
        'node_modules/bare': { version: '3.0.0' },
      },
    }),
  );
  const other = await runCommand([process.execPath, 'tools/licences.ts', folder], {});
  t.is(other.status, 1);
  t.regex(other.stdout, /^viral@2\.0\.0 has GPL-3\.0, .*\nbare@3\.0\.0 has no licence, /m);
});

/** Starts a registry with one vulnerability of a production package. npm caches vulnerabilities by id. */
async function startRegistry(t: ExecutionContext, severity: string): Promise<string> {
  const advisory = {
    id: severity === 'high' ? 1 : 2,
    url: 'https://advisories.example/1',
    title: 'Made up',
    severity,
    vulnerable_versions: '<99.0.0',
    cwe: [],
    cvss: { score: 0, vectorString: null },
  };
  const { port } = await startHttpServer(t, (request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.statusCode = request.url?.endsWith('/bulk') ? 200 : 404;
    response.end(JSON.stringify(response.statusCode === 200 ? { ulid: [advisory] } : {}));
  });
  return `http://127.0.0.1:${port}`;
}

test('the audit fails for a high vulnerability in production, and without a registry only if required', async (t) => {
  const audit = (registry: string, ...options: string[]) =>
    runCommand([process.execPath, 'tools/audit.ts', ...options], { npm_config_registry: registry });
  const found = await audit(await startRegistry(t, 'high'));
  t.is(found.status, 1, found.stdout);
  t.regex(found.stdout, /^ulid .*, high: Made up \(https:\/\/advisories\.example\/1\)$/m);
  const away = await audit('http://127.0.0.1:9');
  t.is(away.status, 0);
  t.regex(away.stdout, /^Known vulnerabilities were not asked for: .*ECONNREFUSED.*\nNOT AUDITED: /);
  const required = await audit('http://127.0.0.1:9', '--require');
  t.is(required.status, 1, 'with --require an audit without a registry fails');
  t.regex(required.stdout, /\nNOT AUDITED: this build stops/);
  t.is((await audit(await startRegistry(t, 'low'), '--require')).status, 0);
});

test('moderate vulnerabilities pass, and output that is no report counts as not audited', (t) => {
  const report = (severity: string) =>
    JSON.stringify({
      auditReportVersion: 2,
      vulnerabilities: { a: { name: 'a', severity, range: '<2', via: ['b', { title: 'T', url: 'U', severity }] } },
    });
  t.deepEqual(readAudit(report('moderate')), { kind: 'clean' });
  t.deepEqual(readAudit(report('critical')), { kind: 'found', lines: ['a <2, critical: by b; T (U)'] });
  t.deepEqual(readAudit('{"message":"","error":{"summary":"no network"}}'), {
    kind: 'not audited',
    reason: 'no network',
  });
  t.deepEqual(readAudit('<html>\nproxy'), { kind: 'not audited', reason: '<html>' });
  t.deepEqual(readAudit(''), { kind: 'not audited', reason: 'npm said nothing' });
});
