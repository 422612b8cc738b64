import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ROOT } from './program.ts';

const SKIPPED = new Set(['node_modules', 'coverage', 'dist']);
const TEXT = /\.(?:tsx?|css|sql|md|yaml|example)$|^Procfile$/;

/** Returns the paths of the project's documents, relative to its root. */
export async function listDocuments(): Promise<string[]> {
  const [root, docs] = await Promise.all([readdir(ROOT), readdir(join(ROOT, 'docs'), { recursive: true })]);
  return [...root, ...docs.map((name) => join('docs', name))].filter((path) => path.endsWith('.md'));
}

/** Reads every hand-written text of the project: sources, migrations, descriptions, documents. */
export async function listTrackedTexts(): Promise<{ path: string; text: string }[]> {
  const paths = (await listFiles(ROOT)).filter((path) => !path.includes('.generated.'));
  return Promise.all(paths.map(async (path) => ({ path: relative(ROOT, path), text: await readFile(path, 'utf8') })));
}

async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const nested = entries.map(async (entry) => {
    const path = join(directory, entry.name);
    if (SKIPPED.has(entry.name) || (entry.name.startsWith('.') && entry.isDirectory())) return [];
    if (entry.isDirectory()) return listFiles(path);
    return TEXT.test(entry.name) ? [path] : [];
  });
  return (await Promise.all(nested)).flat();
}
