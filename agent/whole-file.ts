import { open, rename } from 'node:fs/promises';

/**
 * Writes a file that only its owner may read, so that a crash at any moment leaves the old content or the new one,
 * never a part of it.
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
