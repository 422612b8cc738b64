import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { readSourceFiles, sourceFile, type Import, type SourceFile } from './helpers/source-files.ts';

const ANYTHING = '*';

/** Folders that each folder may import besides itself; docs/architecture.md gives the reasons. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  net: [],
  threads: [],
  config: [],
  postgres: ['core'],
  probes: ['core', 'net', 'threads'],
  notifications: ['core', 'net', 'threads'],
  telemetry: ['core', 'net'],
  models: ['core', 'postgres'],
  queues: ['core', 'postgres'],
  workers: ['core', 'models', 'queues', 'probes', 'notifications', 'net', 'telemetry'],
  api: ['core', 'models', 'queues', 'notifications'],
  agent: ['core', 'probes', 'net', 'config'],
  console: ['core'],
  cli: [
    'core',
    'net',
    'config',
    'postgres',
    'threads',
    'probes',
    'notifications',
    'telemetry',
    'models',
    'queues',
    'workers',
    'api',
    'agent',
    'console',
  ],
  tools: [ANYTHING],
  bench: [ANYTHING],
  simulation: [ANYTHING],
  test: [ANYTHING],
};

/** Single files of other folders that a folder may import in addition. */
const MAY_IMPORT_FILES: Readonly<Record<string, readonly string[]>> = {
  // The first file maps a name to its domain from a list and sends nothing over the network. Through the second,
  // sign-ins reach only the OpenID Connect provider that the operator configured (D-589). Only the entry file loads the
  // third.
  api: ['net/registrable-domain.ts', 'net/bounded-fetch.ts', 'telemetry/start.ts'],
};

/** The same, but for types only. */
const MAY_IMPORT_TYPES: Readonly<Record<string, readonly string[]>> = {
  // The console calls the API and takes its types from the API description.
  console: ['api/schema.generated.ts'],
};

/** Packages restricted to certain paths, given as prefixes: the database to models, the queue to queues and workers. */
const BELONGS_TO: Readonly<Record<string, readonly string[]>> = {
  sequelize: ['models/'],
  umzug: ['models/'],
  // BullMQ on PostgreSQL is given its connections.
  pg: ['postgres/', 'models/', 'queues/connection.ts', 'cli/embedded-postgres/'],
  'pg-connection-string': ['postgres/'],
  bullmq: ['queues/', 'workers/', 'api/system/queue-board'],
  ioredis: ['queues/'],
  // The package takes 18 MB of memory once loaded: models seal secrets, and agents open them.
  'libsodium-wrappers': ['models/', 'agent/'],
  'openid-client': ['api/accounts/open-id/'],
  jose: ['api/accounts/open-id/'],
  '@bull-board/api': ['api/system/queue-board'],
  '@bull-board/express': ['api/system/queue-board'],
  // The console's build tools are part of neither the pages nor the service.
  vite: ['console/build/'],
  '@tailwindcss/vite': ['console/build/'],
  preact: ['console/'],
  '@preact/signals': ['console/'],
  uplot: ['console/'],
};

/** Packages that are loaded on first use (D-632); their types may be imported at the top. */
const LATE = ['sequelize', 'nodemailer', 'tldts', 'libsodium-wrappers'].join('|');
const LOADED_LATE = new RegExp(String.raw`^import\s+(?!type\b)[^;'"]*from\s+'(?:${LATE})[/']`, 'm');

/** Entry files of processes; only they read the environment and pass the configuration on. */
const ENTRY_FILES = [/^(api|workers|agent)\/main\.ts$/, /^cli\/[^/]+\.ts$/, /^config\/thread-pool\.ts$/];
/** Imports that only entry files may use: the configuration, and the version to report. */
const FOR_ENTRY_FILES = new Set(['config', 'package.json']);
const OUTSIDE_PRODUCTION = /^(bench|simulation|tools|test)\//;
const READS_ENVIRONMENT = /\bprocess\s*\??\.\s*env\b|\bprocess\s*\[|\}\s*=\s*process\b|['"](node:)?process['"]/;
const VAGUE_NAME = /(^|\/)(src|libs?|utils?|common|services?|managers?)(\/|\.tsx?$)/;

const folderOf = (path: string): string => path.split('/')[0] ?? '';
const isEntry = (path: string): boolean => ENTRY_FILES.some((pattern) => pattern.test(path));

/** Returns the violations in a tree of files, one line each. */
function violations(files: readonly SourceFile[]): readonly string[] {
  return [
    ...files.flatMap((file) => [
      ...pathViolations(file),
      ...file.imports.flatMap((imported) => importViolations(file.path, imported)),
    ]),
    ...cycles(files),
  ];
}

function pathViolations({ path, code }: SourceFile): string[] {
  const found: string[] = [];
  if (!path.includes('/') || !(folderOf(path) in MAY_IMPORT)) found.push(`${path} is in no folder of the architecture`);
  if (VAGUE_NAME.test(path)) found.push(`${path} has a name that says nothing`);
  if (READS_ENVIRONMENT.test(code) && !isEntry(path) && !OUTSIDE_PRODUCTION.test(path))
    found.push(`${path} reads the environment`);
  if (LOADED_LATE.test(code) && !OUTSIDE_PRODUCTION.test(path)) found.push(`${path} loads a large package at once`);
  return found;
}

function importViolations(path: string, imported: Import): string[] {
  const folder = folderOf(path);
  const forbidden = [`${path} imports ${imported.specifier}`];
  if (imported.path !== null)
    return mayImport(path, folderOf(imported.path)) ||
      (MAY_IMPORT_FILES[folder] ?? []).includes(imported.path) ||
      (imported.isType && (MAY_IMPORT_TYPES[folder] ?? []).includes(imported.path))
      ? []
      : forbidden;
  if (OUTSIDE_PRODUCTION.test(path)) return [];
  if (imported.package === null || folder === 'core') return forbidden;
  if (folder === 'console' && !path.startsWith('console/build/') && imported.package.startsWith('node:'))
    return forbidden;
  const owners = BELONGS_TO[imported.package];
  return owners === undefined || owners.some((owner) => path.startsWith(owner)) ? [] : forbidden;
}

function mayImport(path: string, target: string): boolean {
  const allowed = MAY_IMPORT[folderOf(path)] ?? [];
  return (
    target === folderOf(path) ||
    allowed.includes(target) ||
    allowed.includes(ANYTHING) ||
    (isEntry(path) && FOR_ENTRY_FILES.has(target))
  );
}

/** Reports each file on an import cycle once, with the path back to itself. */
function cycles(files: readonly SourceFile[]): string[] {
  const importsOf = new Map(files.map((file) => [file.path, file.imports.flatMap(({ path }) => path ?? [])]));
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] => {
    if (trail.includes(path)) return [`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' > ')}`];
    if (finished.has(path)) return [];
    const found = (importsOf.get(path) ?? []).flatMap((next) => visit(next, [...trail, path]));
    finished.add(path);
    return found;
  };
  return files.flatMap(({ path }) => visit(path, []));
}

test('every import goes in a direction that the architecture allows', async (t) => {
  const files = await readSourceFiles(fileURLToPath(new URL('..', import.meta.url)));
  const mine = files.find(({ path }) => path === 'test/architecture.test.ts');
  t.true(
    mine?.imports.some(({ path }) => path === 'test/helpers/source-files.ts'),
    'the tree was read',
  );
  t.deepEqual(violations(files), []);
});

const FORBIDDEN: readonly [why: string, path: string, text: string][] = [
  ['core may not import models', 'core/a.ts', `import { b } from '../models/b.ts';`],
  ['core may not import types of a package', 'core/a.ts', `import type { Pool } from 'pg';`],
  ['core may not import Node modules', 'core/a.ts', `import 'node:fs';`],
  ['api may not import the network', 'api/a.ts', `import { b } from '../net/http-client.ts';`],
  ['api may not import workers', 'api/a.ts', `import type { B } from '../workers/b.ts';`],
  ['workers may not import api', 'workers/a.ts', `export { b } from '../api/b.ts';`],
  ['models may not import queues', 'models/a.ts', `const b = await import('../queues/b.ts');`],
  ['queues may not import models', 'queues/a.ts', `type B = import('../models/b.ts').B;`],
  ['probes may not import models', 'probes/a.ts', `import {\n  b, // why\n  c,\n} from "../models/b.ts";`],
  ['cli may not import test', 'cli/a.ts', `import { b } from '../test/helpers/b.ts';`],
  ['production may not import bench', 'api/a.ts', `import '../bench/b.ts';`],
  ['production may not import simulation', 'core/a.ts', `import '../simulation/truth/random.ts';`],
  ['only entry files may import config', 'api/a.ts', `import { readEnvironment } from '../config/environment.ts';`],
  ['only models may import sequelize', 'workers/a.ts', `import type { Sequelize } from 'sequelize';`],
  ['the ORM must be loaded lazily', 'models/a.ts', `import { Op } from 'sequelize';`],
  ['a subpath of a package counts as the package', 'api/a.ts', `import pool from 'pg/lib/index.js';`],
  ['only queues and workers may import bullmq', 'api/a.ts', `import { Queue } from 'bullmq';`],
  ['only queues may import ioredis', 'workers/a.ts', `import { Redis } from 'ioredis';`],
  ['require counts as an import', 'api/a.ts', `const pg = require('pg');`],
  ['the console may not import models', 'console/a.tsx', `import { b } from '../models/b.ts';`],
  ['the console may import only types of the API', 'console/a.ts', `import { b } from '../api/schema.generated.ts';`],
  ['browser code may not import Node modules', 'console/pages/a.tsx', `import { join } from 'node:path';`],
  ['only the build of the console may import the bundler', 'console/a.ts', `import { build } from 'vite';`],
  ['a computed import is forbidden', 'api/a.ts', `await import(name);`],
  ['only entry files may read the environment', 'api/a.ts', `const port = process.env.PORT;`],
  ['only entry files may read the environment, even destructured', 'core/a.ts', `const { env } = process;`],
  ['a folder must be named after its contents', 'api/utils/a.ts', ''],
  ['a file must be named after its contents', 'core/utils.ts', ''],
  ['a new folder needs a row in the table', 'extras/a.ts', ''],
  ['code must be in a folder', 'a.ts', ''],
  ['a file may not import itself', 'core/a.ts', `import { b } from './a.ts';`],
];
for (const [why, path, text] of FORBIDDEN) {
  test(`${why}: ${path} ${text.replaceAll(/\s+/g, ' ')}`, (t) => {
    t.is(violations([sourceFile(path, text)]).length, 1);
  });
}

const ALLOWED: readonly [why: string, path: string, text: string][] = [
  ['workers may import probes', 'workers/a.ts', `import { b } from '../probes/b.ts';`],
  [
    'an entry file may read the environment for the configuration',
    'workers/main.ts',
    `import { readEnvironment } from '../config/environment.ts';\nreadEnvironment(process.env);`,
  ],
  [
    'an entry file may import the version',
    'cli/a.ts',
    `import packageJson from '../package.json' with { type: 'json' };`,
  ],
  [
    'a comment is not an import',
    'core/a.ts',
    `// import { b } from '../models/b.ts'\n/** import 'pg' */\nexport const url = 'http://x'; // process.env`,
  ],
  ['types of the ORM may be imported', 'models/a.ts', `import type { Sequelize } from 'sequelize';`],
  ['the console may import core', 'console/a.tsx', `import { b } from '../core/b.ts';`],
  [
    'the console may import types of the API',
    'console/a.tsx',
    `import type { paths } from '../api/schema.generated.ts';`,
  ],
  [
    'the queue board may import bull-board',
    'api/system/queue-board.ts',
    `import { createBullBoard } from '@bull-board/api';`,
  ],
  ['the embedded database may import pg', 'cli/embedded-postgres/a.ts', `import { Client } from 'pg';`],
];
for (const [why, path, text] of ALLOWED) {
  test(`${why}: ${path}`, (t) => {
    t.deepEqual(violations([sourceFile(path, text)]), []);
  });
}

test('an import cycle is found, even through type-only imports, and reported with its path', (t) => {
  const ring = [
    sourceFile('core/a.ts', `import { b } from './b.ts';`),
    sourceFile('core/b.ts', `import type { C } from './c.ts';`),
    sourceFile('core/c.ts', `export * from './a.ts';`),
    sourceFile('core/outside.ts', `import { a } from './a.ts';`),
  ];
  t.deepEqual(violations(ring), ['cycle: core/a.ts > core/b.ts > core/c.ts > core/a.ts']);
});

for (const [road, most] of [
  ['a check', 25],
  ['a request', 20],
] as const) {
  test(`every file on the road of ${road} exists, and there are at most ${most} of them`, async (t) => {
    const document = await readFile(new URL('../docs/architecture.md', import.meta.url), 'utf8');
    const section = document.split('\n## ').find((each) => each.startsWith(`The road of ${road}`)) ?? '';
    const files = await readSourceFiles(fileURLToPath(new URL('..', import.meta.url)));
    const paths = new Set(files.map(({ path }) => path));
    const named = [...section.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = '']) => path);
    t.deepEqual(
      named.filter((path) => !paths.has(path)),
      [],
    );
    const entered = [...section.matchAll(/^\| \d+ \| `([\w./-]+)`/gm)].map(([, path]) => path);
    t.true(entered.length > 0 && entered.length <= most, String(entered.length));
    t.is(new Set(entered).size, entered.length);
  });
}
