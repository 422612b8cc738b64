import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import test from 'ava';
import { listDocuments, listTrackedTexts } from '../helpers/documents.ts';
import { ROOT } from '../helpers/program.ts';

const DECISION = /\bD-(\d{2,3})\b/g;
/** Project files and folders as documents name them: from the root, in backticks. */
const FOLDERS =
  'agent|api|bench|simulation|cli|config|console|core|deploy|docs|models|net|notifications|postgres|probes|queues|' +
  'telemetry|test|threads|tools|workers';
const PATH = new RegExp(
  `\`((?:${FOLDERS}|\\.ci)/[\\w./-]*\\.(?:tsx?|sql|md|mjs|css|yaml|toml)|(?:${FOLDERS})/(?:[\\w-]+/)*)\``,
  'g',
);
const LINK = /\]\(([^)\s]+)\)/g;

const documents = await Promise.all(
  (await listDocuments()).map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
);
const decisions = documents.find(({ path }) => path === 'docs/decisions.md')?.text ?? '';

test('each decision has one row, and every cited number has one', async (t) => {
  const rows = [...decisions.matchAll(/^\| D-(\d+) \|/gm)].map(([, number]) => number);
  t.deepEqual(
    rows.filter((number, index) => rows.indexOf(number) !== index),
    [],
  );
  const cited = (await listTrackedTexts()).flatMap(({ path, text }) =>
    [...text.matchAll(DECISION)].map(([, number]) => ({ path, number })),
  );
  t.true(cited.length > 500);
  t.deepEqual(
    cited.filter(({ number }) => !rows.includes(number)).map(({ path, number }) => `${path}: D-${number}`),
    [],
  );
});

test('every table that a migration creates is listed in docs/architecture.md', async (t) => {
  const architecture = documents.find(({ path }) => path === 'docs/architecture.md')?.text ?? '';
  const rows = new Set(
    [...architecture.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(([, names = '']) => names.split(', ')),
  );
  const made = (await listTrackedTexts())
    .filter(({ path }) => path.startsWith('models/migrations/'))
    .flatMap(({ text }) =>
      [...text.matchAll(/^CREATE (?:UNLOGGED )?TABLE (\w+) \(/gm)].map(([, name]) => `\`${name}\``),
    );
  t.true(made.length > 50);
  t.deepEqual(
    made.filter((name) => !rows.has(name)),
    [],
  );
});

test('every line that a process logs is documented', async (t) => {
  const tables = documents.filter(({ path }) => /^docs\/(?:operations|agents|probe)\.md$/.test(path));
  const rows = new Set(
    tables.flatMap(({ text }) =>
      [...text.matchAll(/^\| (`[a-z_]+\.[a-z_]+`(?:, `[a-z_]+\.[a-z_]+`)*) \|/gm)].flatMap(([, names = '']) =>
        names.split(', '),
      ),
    ),
  );
  const logged = (await listTrackedTexts())
    .filter(({ path }) => path.endsWith('.ts') && !/^(?:test|bench|simulation|tools)\//.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\blog(?:ger)?\.(?:debug|info|warn|error|fatal)\([^;]*?'([a-z_]+\.[a-z_]+)',?\s*\)/g)].map(
        ([, name = '']) => ({ path, name }),
      ),
    );
  t.true(logged.length > 90, String(logged.length));
  t.deepEqual(
    logged.filter(({ name }) => !rows.has(`\`${name}\``)),
    [],
  );
});

test('every file and folder that a document names exists', (t) => {
  const named = documents
    .filter(({ path }) => path !== 'CHANGELOG.md')
    .flatMap(({ path, text }) => [...text.matchAll(PATH)].map(([, file = '']) => ({ path, file })))
    .filter(({ file }) => !file.includes('.generated.'));
  t.true(named.length > 200);
  t.deepEqual(
    named.filter(({ file }) => !existsSync(join(ROOT, file))).map(({ path, file }) => `${path}: ${file}`),
    [],
  );
});

test('every link between documents leads to an existing file and heading', (t) => {
  const anchors = new Map(documents.map(({ path, text }) => [path, anchorsOf(text)]));
  const links = documents.flatMap(({ path, text }) =>
    [...text.matchAll(LINK)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => ({ path, target })),
  );
  t.true(links.length > 200);
  const broken = links.filter(({ path, target }) => {
    const [file = '', anchor] = target.split('#');
    const to = file === '' ? path : normalize(join(dirname(path), file));
    if (!existsSync(join(ROOT, to))) return true;
    return anchor !== undefined && anchors.has(to) && !anchors.get(to)?.has(anchor);
  });
  t.deepEqual(
    broken.map(({ path, target }) => `${path}: ${target}`),
    [],
  );
});

/** Returns the anchors that GitHub generates for the headings of a page. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
