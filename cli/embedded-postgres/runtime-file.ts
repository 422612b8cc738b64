import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canConnect } from './connection.ts';

/** There from a start to the clean stop after it; outlives a kill, and so does the server. */
const NAME = 'runtime.json';

/**
 * Tells other commands on the same data directory where the database runs; only its owner may read it, the URL holds
 * the password.
 */
export async function writeRuntime(dataDir: string, runtime: { databaseUrl: string }): Promise<void> {
  const draft = join(dataDir, `${NAME}.${process.pid}`);
  await writeFile(draft, JSON.stringify(runtime), { mode: 0o600 });
  await rename(draft, join(dataDir, NAME));
}

export async function removeRuntime(dataDir: string): Promise<void> {
  await rm(join(dataDir, NAME), { force: true });
}

/** The URL of the embedded database that `npm start` runs on this data directory; null when none answers. */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const text = await readFile(join(dataDir, NAME), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { databaseUrl }: { databaseUrl: string } = JSON.parse(text);
  return (await canConnect(databaseUrl)) ? databaseUrl : null;
}
