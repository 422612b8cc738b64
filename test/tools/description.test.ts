import { cp, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { descriptionJson } from '../../api/description.ts';
import { runCommand } from '../helpers/command.ts';
import { ROOT } from '../helpers/program.ts';

const SOURCES = [
  'api/description.ts',
  'api/openapi.yaml',
  'package.json',
  'tools/api-types.ts',
  'tools/description.ts',
];
const TITLE = `import { readDescription } from './api/description.ts';
  console.log((await readDescription()).info.title);`;

/** Creates a checkout with only the files that the API description needs, and nothing generated. */
async function checkOut(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-description-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const path of SOURCES) await cp(join(ROOT, path), join(folder, path));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const api = join(folder, 'api');
  const yaml = join(api, 'openapi.yaml');
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await runCommand([process.execPath, ...args], {}, folder);
    t.is(status, 0, stderr);
    return stdout.trim();
  };
  return {
    api,
    make: () => run('tools/description.ts'),
    /** Returns the title as a newly started process reads it. */
    readTitle: () => run('--input-type=module', '-e', TITLE),
    /** Sets the description's title to one word. */
    setTitle: async (title: string) =>
      writeFile(yaml, (await readFile(yaml, 'utf8')).replace(/^ {2}title: .*$/m, `  title: ${title}`)),
    json: async () => descriptionJson(await readFile(yaml, 'utf8')),
    made: async () => (await readdir(api)).filter((name) => name.includes('generated')).toSorted(),
  };
}

test('a process reads the current description whether generated files are missing, outdated or current', async (t) => {
  const { api, make, readTitle, setTitle, made, json } = await checkOut(t);
  await setTitle('First');
  t.is(await readTitle(), 'First');
  t.deepEqual(await made(), [], 'reading writes nothing, as in a read-only installation');
  await make();
  const [first = '', types] = await made();
  t.is(types, 'schema.generated.ts');
  t.is(await readFile(join(api, first), 'utf8'), await json());
  await setTitle('Second');
  t.is(await readTitle(), 'Second');
  await make();
  t.is(await readTitle(), 'Second');
  const [second = '', ...others] = await made();
  t.deepEqual(others, [types]);
  t.not(second, first);
  await writeFile(join(api, second), (await json()).replace('"Second"', '"Second, made"'));
  t.is(await readTitle(), 'Second, made', 'a file generated from the current description is used as it is');
});

test('concurrent generators leave one complete file of each kind, and a later one writes none', async (t) => {
  const { api, make, made, json } = await checkOut(t);
  await Promise.all([make(), make(), make(), make()]);
  const files = await made();
  t.is(files.length, 2, files.join(', '));
  t.is(await readFile(join(api, files[0] ?? ''), 'utf8'), await json());
  const identify = () => Promise.all(files.map(async (name) => (await stat(join(api, name))).ino));
  const before = await identify();
  await make();
  t.deepEqual(await identify(), before);
});
