import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSourceFiles, type SourceFile } from '../test/helpers/source-files.ts';
import { findPrivateNames } from './private-words.ts';
import { readRoads } from './roads.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const ROOMS = 'agent|api|cli|config|console|core|models|net|notifications|postgres|probes|queues|threads|workers';
const PRODUCTION = new RegExp(String.raw`^(?:${ROOMS})/(?!.*\.generated\.)`);

/** Pages, receivers' formats and the entries of threads may be short files. */
const MAY_BE_SHORT = /^(?:console\/pages|notifications\/webhook\/presets)\/|\/(?:judge-|parse-)?thread\.ts$/;

const WIDTH = 120;
const SMALL_LINES = 40;
const SENTENCE_WORDS = 25;

/** Longest allowed road of a check and of a PATCH: files, and ways back to an earlier one. */
const ROADS: Readonly<Record<string, { what: string; files: number; climbs: number }>> = {
  'The road of a check': { what: 'a check', files: 25, climbs: 2 },
  'The road of a request': { what: 'a PATCH', files: 20, climbs: 0 },
};

type Count = { what: string; count: number; aim: number; worst?: readonly string[] };

/** Prints a count for each aim of the code's structure; with `--list` also where the aim is missed. */
const files = (await readSourceFiles(ROOT)).filter(({ path }) => !path.includes('.generated.'));
const texts = new Map(
  await Promise.all(
    files.map(async ({ path }) => [path, (await readFile(join(ROOT, path), 'utf8')).split('\n')] as const),
  ),
);
const production = files.filter(({ path }) => PRODUCTION.test(path));
const namesIn = new Map(files.map(({ path, code }) => [path, new Set(code.match(/[\w$]+/g))] as const));

const counts: Count[] = [
  { what: 'files of production code', count: production.length, aim: 620 },
  { what: `lines over ${WIDTH} columns`, ...listed(files.flatMap(wideLines)), aim: 0 },
  {
    what: `files under ${SMALL_LINES} lines with one importer, but pages and receivers`,
    ...listed(production.filter(isCloset).map(({ path }) => path)),
    aim: 0,
  },
  { what: 'exports that no other file names', ...listed(production.flatMap(ownExports)), aim: 0 },
  { what: 'casts of request bodies', ...listed(production.flatMap(bodyCasts)), aim: 0 },
  {
    what: `docstrings whose first sentence has more than ${SENTENCE_WORDS} words`,
    ...listed(files.flatMap(longFirstSentences)),
    aim: 0,
  },
  {
    what: 'names with a private word',
    ...listed(production.flatMap((file) => findPrivateNames(file).map((name) => `${file.path}: ${name}`))),
    aim: 0,
  },
  ...(await countRoads()),
];
// A reader such as `head` closes the pipe early.
process.stdout.on('error', () => process.exit(0));
for (const { what, count, aim, worst = [] } of counts) {
  process.stdout.write(`${String(count).padStart(6)}  ${what} (aim: ${aim === 0 ? 'none' : `at most ${aim}`})\n`);
  if (process.argv.includes('--list')) for (const line of worst) process.stdout.write(`        ${line}\n`);
}

async function countRoads(): Promise<Count[]> {
  const page = await readFile(join(ROOT, 'docs/architecture.md'), 'utf8');
  return readRoads(page).flatMap(({ name, stops, climbs }) => {
    const aim = ROADS[name];
    if (aim === undefined) return [];
    return [
      { what: `files that ${aim.what} passes through`, count: stops.length, aim: aim.files },
      { what: `climbs of ${aim.what}`, count: climbs.length, aim: aim.climbs },
    ];
  });
}

function listed(worst: readonly string[]): Pick<Count, 'count' | 'worst'> {
  return { count: worst.length, worst };
}

function wideLines({ path }: SourceFile): string[] {
  const lines = texts.get(path) ?? [];
  return lines.flatMap((line, index) => ([...line].length > WIDTH ? [`${path}:${index + 1}`] : []));
}

function isCloset({ path }: SourceFile): boolean {
  if (MAY_BE_SHORT.test(path) || (texts.get(path)?.length ?? 0) > SMALL_LINES) return false;
  return production.filter(({ imports }) => imports.some((imported) => imported.path === path)).length === 1;
}

function ownExports({ path, code }: SourceFile): string[] {
  const exported = [...code.matchAll(/^export (?:async |abstract )?(?:class|const|function|type) (\w+)/gm)];
  const isNamedElsewhere = (name: string): boolean =>
    [...namesIn].some(([other, names]) => other !== path && names.has(name));
  return exported.flatMap(({ 1: name = '' }) => (isNamedElsewhere(name) ? [] : [`${path}: ${name}`]));
}

function bodyCasts({ path, code }: SourceFile): string[] {
  return [...code.matchAll(/request\.body as /g)].map(() => path);
}

function longFirstSentences({ path }: SourceFile): string[] {
  const text = (texts.get(path) ?? []).join('\n');
  return [...text.matchAll(/^ *\/\*\*([^]*?)\*\//gm)].flatMap(({ index, 1: docstring = '' }) => {
    const [sentence = ''] = docstring
      .replaceAll(/\s*\n\s*\*\s*/g, ' ')
      .trim()
      .split(/(?<=[.!?])\s+(?=[A-Z`])/);
    const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    return words > SENTENCE_WORDS ? [`${path}:${text.slice(0, index).split('\n').length}`] : [];
  });
}
