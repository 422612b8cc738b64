import { readFile, rm, stat, utimes, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { PullAnswer } from '../core/agents/wire.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';

/** The work as the service gave it, secrets sealed, and the tag that it had. */
export type SavedWork = { answer: PullAnswer; etag: string | null };

/** The agent's work on disk: one that starts while the service is away goes on with it. */
export type WorkFile = {
  /** Null where there is none, or none that the service confirmed within a day. */
  load: () => Promise<SavedWork | null>;
  save: (work: SavedWork) => Promise<void>;
  /** The service said that the work is still the same. */
  confirm: () => Promise<void>;
  remove: () => Promise<void>;
};

/** Longer than that without the service, results would be too old to be taken in anyway, in milliseconds. */
const HOLDS_MS = DAY_MS;

/** A confirmation is written no more often than that, in milliseconds. */
const CONFIRM_EVERY_MS = HOUR_MS;

/** Makes the work file of an agent's folder. */
export function createWorkFile(folder: string, now: () => number): WorkFile {
  const path = join(folder, 'work.json');
  let confirmedAtMs = 0;
  return {
    async load() {
      const facts = await stat(path).catch(() => null);
      if (facts === null || now() - facts.mtimeMs > HOLDS_MS) return null;
      try {
        return JSON.parse(await readFile(path, 'utf8')) as SavedWork;
      } catch {
        return null;
      }
    },
    async save(work) {
      confirmedAtMs = now();
      await writeWhole(path, JSON.stringify(work));
    },
    async confirm() {
      if (now() - confirmedAtMs < CONFIRM_EVERY_MS) return;
      confirmedAtMs = now();
      await utimes(path, now() / 1000, now() / 1000);
    },
    remove: () => rm(path, { force: true }),
  };
}

/**
 * Writes a file that only its owner may read. A crash at any moment leaves the old content or the new one, never a part
 * of it.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
