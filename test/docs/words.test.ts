import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { load } from 'js-yaml';
import { findPrivateNames, findPrivateWord, listTexts } from '../../tools/private-words.ts';
import { listDocuments } from '../helpers/documents.ts';
import { ROOT } from '../helpers/program.ts';
import { readSourceFiles, sourceFile } from '../helpers/source-files.ts';

const PRODUCTION =
  /^(?:agent|api|cli|config|console|core|models|net|notifications|postgres|probes|queues|workers)\/(?!.*\.generated\.)/;
const READ_BY_CUSTOMERS = /^(?:api|core|notifications|console)\//;

const production = (await readSourceFiles(ROOT)).filter(({ path }) => PRODUCTION.test(path));

test('a private word is found in names and texts, and not in comments, field names and plain English', (t) => {
  const page = sourceFile(
    'console/page.tsx',
    `
      const toldAt = <p title="It is news to us">Nobody was notified, whatever {askedAt}</p>; // a hall
      log.info('door.closed');
      const lastSeenAt = <b title="look at it">Last seen in its place</b>;
    `,
  );
  t.deepEqual(findPrivateNames(page), ['toldAt: notified', 'door.closed: route guard, ping availability']);
  t.deepEqual(
    listTexts(page).map((text) => findPrivateWord(text)?.split(': ').at(-1) ?? null),
    ['change', null, 'the component that does not', null],
  );
});

test('no name in production code has a private word', (t) => {
  t.true(production.length > 400);
  t.deepEqual(
    production.flatMap((file) => findPrivateNames(file).map((name) => `${file.path}: ${name}`)),
    [],
  );
});

test('no text for customers has a private word', (t) => {
  const texts = production
    .filter(({ path }) => READ_BY_CUSTOMERS.test(path))
    .flatMap((file) => listTexts(file).map((text) => ({ path: file.path, text })));
  t.true(texts.length > 1000);
  t.deepEqual(
    texts.flatMap(({ path, text }) => (findPrivateWord(text) === null ? [] : [`${path}: ${findPrivateWord(text)}`])),
    [],
  );
});

test('no text of the API description has a private word', async (t) => {
  const texts = descriptionsOf(load(await readFile(join(ROOT, 'api/openapi.yaml'), 'utf8')));
  t.true(texts.length > 500);
  t.deepEqual(
    texts.map(findPrivateWord).filter((found) => found !== null),
    [],
  );
});

test('no document has a private word outside code', async (t) => {
  // The glossary lists some of them as words to avoid.
  const paths = (await listDocuments()).filter((path) => path !== 'docs/glossary.md');
  t.true(paths.length > 25);
  const found = await Promise.all(
    paths.map(async (path) => {
      const prose = withoutCode(await readFile(join(ROOT, path), 'utf8'));
      return prose.split('\n').flatMap((line) => (findPrivateWord(line) === null ? [] : [`${path}: ${line}`]));
    }),
  );
  t.deepEqual(found.flat(), []);
});

function descriptionsOf(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    typeof value === 'string' && ['description', 'summary'].includes(key) ? [value] : descriptionsOf(value),
  );
}

function withoutCode(page: string): string {
  return page.replaceAll(/```[\s\S]*?```|`[^`\n]*`|\]\([^)]*\)/g, ' ');
}
