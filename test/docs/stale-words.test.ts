import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { listDocuments } from '../helpers/documents.ts';
import { ROOT } from '../helpers/program.ts';

/** Promises that stay in documents once they are kept. Plans belong in issues, not in documents. */
const PROMISE = new RegExp(
  [
    'not (?:there|implemented|supported|available|done) yet',
    String.raw`\(later\b`,
    String.raw`\bcoming soon\b`,
    String.raw`\bto be (?:done|written|added)\b`,
    String.raw`\bwill be (?:added|implemented)\b`,
    String.raw`\bTBD\b`,
    String.raw`\bfor now\b`,
  ].join('|'),
  'gi',
);

test('no document promises future work', async (t) => {
  const pages = await listDocuments();
  t.true(pages.includes('README.md') && pages.includes('docs/decisions.md'));
  const documents = [...pages, 'api/openapi.yaml', '.env.example'];
  const promises = documents.flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(PROMISE)].map(([words]) => `${path}: ${words}`),
  );
  t.deepEqual(promises, []);
});
