import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import test from 'ava';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { PROCESSES } from '../../cli/commands/processes.ts';
import { ROOT } from '../helpers/program.ts';

type Service = {
  image: string;
  build?: { dockerfile: string; target?: string };
  command: string[];
  environment: Record<string, string>;
  read_only: boolean;
  cap_drop: string[];
};

const read = (name: string) => readFile(join(ROOT, name), 'utf8');
const readServices = async (name: string) =>
  (load(await read(name), { schema: CORE_SCHEMA.withTags(mergeTag) }) as { services: Record<string, Service> })
    .services;

/** Returns the names of the variables that the service reads. */
async function knownVariables(): Promise<Set<string>> {
  return new Set(Object.keys(parseEnv(await read('.env.example'))));
}

test('one container runs the whole service on all of its addresses, with its data in the volume', async (t) => {
  const { spotcheck, ...others } = await readServices('compose.yaml');
  t.deepEqual(Object.keys(others), []);
  t.deepEqual(spotcheck?.command, ['start']);
  t.like(spotcheck?.environment, { HOST: '0.0.0.0', DATA_DIR: '/data/spotcheck' });
});

test('the fleet has each process of the Procfile once, and starts none before the migrations', async (t) => {
  const { postgres, redis, migrate, ...processes } = await readServices('compose.fleet.yaml');
  t.truthy(postgres);
  t.true(redis?.command.includes('noeviction'));
  t.deepEqual(migrate?.command, ['migrate']);
  t.deepEqual(Object.keys(processes).toSorted(), Object.keys(PROCESSES).toSorted());
  for (const [name, service] of Object.entries(processes)) {
    t.deepEqual(service.command, [name]);
    t.is(service.build?.target, 'fleet', name);
    t.like(service, { depends_on: { migrate: { condition: 'service_completed_successfully' } } }, name);
  }
  t.is(processes['check']?.environment['AGENT_REGION'], '${AGENT_REGION:-local}');
});

test('our containers are read-only, have no capabilities, and set known variables only', async (t) => {
  const known = await knownVariables();
  for (const file of ['compose.yaml', 'compose.fleet.yaml'])
    for (const [name, service] of Object.entries(await readServices(file))) {
      if (service.build === undefined) continue;
      t.like(service, { read_only: true, cap_drop: ['ALL'] }, `${file}: ${name}`);
      for (const variable of Object.keys(service.environment)) t.true(known.has(variable), `${file}: ${variable}`);
    }
});

test('the image includes every folder that the service needs, and sets known variables only', async (t) => {
  const [ignored, recipe, known] = [await read('.dockerignore'), await read('Containerfile'), await knownVariables()];
  const tree = await readdir(ROOT, { withFileTypes: true });
  const unused = new Set(['bench', 'deploy', 'docs', 'node_modules', 'simulation', 'test']);
  const folders = tree.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !unused.has(entry.name));
  t.true(folders.length > 10);
  for (const { name } of folders) t.regex(ignored, new RegExp(`^!${name}$`, 'm'), name);
  const [, image = ''] = recipe.split(' AS fleet');
  t.notRegex(image, /^RUN /m, 'a base without a shell cannot run commands');
  for (const [, name = ''] of image.matchAll(/^(?:ENV| {4})\s*([A-Z_]+)=/gm))
    t.true(name === 'PATH' || known.has(name), name);
  t.regex(image, /^HEALTHCHECK .*CMD \["\/usr\/local\/bin\/spotcheck", "health"\]$/m);
  t.regex(image, /^USER [1-9]\d*:0$/m);
});
