import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** One 256-bit key of the ring that seals secrets (D-17); the ring's first key seals, any of them opens. */
export type SecretKey = { id: string; key: Buffer };

const KEY_BYTES = 32;
const ENTRY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/;

/** Parses `id:base64,...`; null unless every key has 32 bytes and a unique id. */
export function parseSecretKeys(text: string): readonly SecretKey[] | null {
  const keys: SecretKey[] = [];
  for (const entry of text.split(',')) {
    const match = ENTRY.exec(entry.trim());
    if (!match?.[1] || !match[2]) return null;
    keys.push({ id: match[1], key: Buffer.from(match[2], 'base64') });
  }
  return new Set(keys.map(({ id }) => id)).size === keys.length ? keys : null;
}

/**
 * Reads the key ring of an embedded installation, and creates one on its first start. The file appears whole or not at
 * all: losing a key that was used once would make every sealed secret unreadable. A damaged file is an error and is
 * never replaced.
 */
export async function loadOrCreateSecretKeys(dataDir: string): Promise<readonly SecretKey[]> {
  const path = pathOf(dataDir);
  return parseFile(path, (await readIfThere(path)) ?? (await createKeyFile(dataDir, path)));
}

/** Reads the key ring of an embedded installation; null if it has no key file. */
export async function readSecretKeys(dataDir: string): Promise<readonly SecretKey[] | null> {
  const path = pathOf(dataDir);
  const text = await readIfThere(path);
  return text === null ? null : parseFile(path, text);
}

const pathOf = (dataDir: string): string => join(dataDir, 'secret-keys');

function parseFile(path: string, text: string): readonly SecretKey[] {
  const keys = parseSecretKeys(text.trim());
  if (keys === null)
    throw new Error(
      `${path} does not contain a key ring (id:base64,...): restore it from a backup, because encrypted secrets ` +
        'cannot be read without it',
    );
  return keys;
}

async function createKeyFile(dataDir: string, path: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    await file.writeFile(`k1:${randomBytes(KEY_BYTES).toString('base64')}\n`);
    await file.sync();
    await file.close();
    // A link, not a rename: when two processes start at once, both continue with the first key.
    await link(draft, path).catch(ignoreExisting);
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
