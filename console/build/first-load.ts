import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileSize } from './compress.ts';

type Chunk = { file: string; isEntry?: boolean; imports?: string[]; css?: string[] };

/** Pages that a first visit shows: who is not signed in sees the first, everybody else mostly the second. */
const FIRST_PAGES = ['pages/sign-in.tsx', 'pages/overview.tsx'];

/**
 * The files that a first visit loads: the page, its styles, everything that it imports at once, and the pages that it
 * shows first.
 */
export async function listFirstLoad(folder: string, files: readonly FileSize[]): Promise<FileSize[]> {
  const manifest: Record<string, Chunk> = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
  const wanted = new Set(['index.html', 'early.js', 'favicon.svg']);
  const visit = (name: string): void => {
    const chunk = manifest[name];
    if (chunk === undefined || wanted.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) wanted.add(file);
    chunk.imports?.forEach(visit);
  };
  for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) visit(name);
  FIRST_PAGES.forEach(visit);
  return files.filter(({ path }) => wanted.has(path));
}
