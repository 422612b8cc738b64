import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PullAnswer, WorkItem, WorkSecrets } from '../core/agents/wire.ts';
import { checkTargetOf } from '../core/agents/work-item.ts';
import { parseJson } from '../core/foreign-text.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';

/** The work as received from the service, with sealed secrets, and its tag. */
export type SavedWork = { answer: PullAnswer; etag: string | null };

/** The agent's work on disk, with which an agent continues that starts while the service is away. */
export type WorkFile = {
  /** Null if there is none, or none that the service confirmed within a day. */
  load: () => Promise<SavedWork | null>;
  save: (work: SavedWork) => Promise<void>;
  /** Records that the service confirmed the work as unchanged. */
  confirm: () => Promise<void>;
  remove: () => Promise<void>;
};

/** Lifetime of unconfirmed work, in milliseconds: its results would be too old to be accepted anyway. */
const HOLDS_MS = DAY_MS;

/** Minimum interval between two writes of a confirmation, in milliseconds. */
const CONFIRM_EVERY_MS = HOUR_MS;

/** Creates the work file of an agent's folder. */
export function createWorkFile(folder: string, now: () => number): WorkFile {
  const path = join(folder, 'work.json');
  let confirmedAtMs = 0;
  /** Work that could not be written: until it is, the file holds work that the service no longer confirms. */
  let unsaved: SavedWork | null = null;
  const save = async (work: SavedWork): Promise<void> => {
    confirmedAtMs = now();
    unsaved = work;
    await writeWhole(path, JSON.stringify(work));
    unsaved = null;
  };
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
    save,
    async confirm() {
      if (now() - confirmedAtMs < CONFIRM_EVERY_MS) return;
      if (unsaved !== null) return await save(unsaved);
      confirmedAtMs = now();
      await utimes(path, now() / 1000, now() / 1000);
    },
    remove: () => rm(path, { force: true }),
  };
}

/**
 * Writes a file that only its owner may read. A crash at any time leaves the old content or the new one, never a part
 * of it; a power cut after the return leaves the new one.
 */
async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/** Codes of systems that cannot force a folder to the disk: some file systems, and Windows, which answers EPERM. */
const CANNOT_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EPERM']);

/** Forces the names in a folder to the disk, where that is possible. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (!CANNOT_SYNC.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await folder.close();
  }
}

/** The agent's X25519 keys: the service seals secrets to the public one, in base64. */
export type KeyPair = {
  publicKey: string;
  /**
   * Opens a libsodium sealed box (base64) that contains `WorkSecrets`; null if it is for another key, or has other
   * contents.
   */
  open: (sealed: string) => Promise<WorkSecrets | null>;
};

/**
 * Loads the keys from the agent's folder; the first start generates them. A damaged file is an error: with new keys the
 * agent would need a new token.
 */
export async function loadKeyPair(folder: string): Promise<KeyPair> {
  const path = join(folder, 'key.json');
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text !== null) return keyPairOf(readKeys(text, path));
  const keys = makeKeys();
  await writeWhole(path, JSON.stringify(keys));
  return keyPairOf(keys);
}

type Keys = { publicKey: string; privateKey: string };

/**
 * Generates a key pair like `crypto_box_keypair`: 32 random bytes and their product with the curve's base point.
 * libsodium is loaded only to open a box.
 */
function makeKeys(): Keys {
  const { x = '', d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return { publicKey: toBase64(x), privateKey: toBase64(d) };
}

function readKeys(text: string, path: string): Keys {
  const keys: Partial<Keys> = readJson(text);
  if (isKey(keys.publicKey) && isKey(keys.privateKey)) {
    // Throws if the two do not match.
    createPrivateKey({
      format: 'jwk',
      key: { kty: 'OKP', crv: 'X25519', x: fromBase64(keys.publicKey), d: fromBase64(keys.privateKey) },
    });
    return { publicKey: keys.publicKey, privateKey: keys.privateKey };
  }
  throw new Error(`${path} is damaged: restore it, or delete it and rotate the agent's token`);
}

function keyPairOf({ publicKey, privateKey }: Keys): KeyPair {
  return {
    publicKey,
    async open(sealed) {
      // libsodium takes 14 MB, which an agent without secrets saves.
      const { default: sodium } = await import('libsodium-wrappers');
      await sodium.ready;
      try {
        const opened = sodium.crypto_box_seal_open(
          Buffer.from(sealed, 'base64'),
          Buffer.from(publicKey, 'base64'),
          Buffer.from(privateKey, 'base64'),
        );
        const secrets: unknown = JSON.parse(new TextDecoder().decode(opened));
        return typeof secrets === 'object' && secrets !== null ? secrets : null;
      } catch {
        return null;
      }
    },
  };
}

function isKey(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z0-9+/]{43}=$/.test(text);
}

function toBase64(base64url: string): string {
  return Buffer.from(base64url, 'base64url').toString('base64');
}

function fromBase64(base64: string): string {
  return Buffer.from(base64, 'base64').toString('base64url');
}

function readJson(text: string): Partial<Keys> {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : {};
}

/** Converts the service's items into assignments with opened secrets, which stay in memory only. */
type WorkReader = (items: readonly WorkItem[]) => Promise<Assignment[]>;

const UNOPENED: OpenedSecrets = {
  outcome: 'withheld',
  inability: "The monitor's secrets cannot be decrypted with this agent's key",
};
const NO_SECRETS: OpenedSecrets = { outcome: 'opened', secrets: {} };

/** Creates the reader of an agent with its keys. A box that was opened once is not opened again. */
export function createWorkReader(keys: KeyPair): WorkReader {
  let known = new Map<string, OpenedSecrets>();

  const openSecrets = async (item: WorkItem): Promise<OpenedSecrets> => {
    const inability = withheldBecause(item);
    if (inability !== null) return { outcome: 'withheld', inability };
    if (item.sealedSecrets === undefined) return NO_SECRETS;
    const already = known.get(item.sealedSecrets);
    if (already !== undefined) return already;
    const secrets = await keys.open(item.sealedSecrets);
    return secrets === null ? UNOPENED : { outcome: 'opened', secrets };
  };

  return async (items) => {
    const boxes = new Map<string, OpenedSecrets>();
    const assignments: Assignment[] = [];
    for (const item of items) {
      const opened = await openSecrets(item);
      if (item.sealedSecrets !== undefined) boxes.set(item.sealedSecrets, opened);
      assignments.push(assign(item, opened));
    }
    known = boxes;
    return assignments;
  };
}

/**
 * One monitor as this agent is to check it. Either `target` or `inability` is null: an item that cannot be checked here
 * has the reason, as a sentence.
 */
export type Assignment = {
  monitorId: string;
  sourceKey: string;
  intervalSeconds: number;
  target: CheckTarget | null;
  inability: string | null;
  /** Unchanged while the item and its secrets are: sealing them anew does not change it. */
  identity: string;
};

/** Secrets of an item: opened (perhaps none), or why they are unavailable. */
type OpenedSecrets = { outcome: 'opened'; secrets: WorkSecrets } | { outcome: 'withheld'; inability: string };

const WITHHELD = {
  no_key: "The service has no key of this agent to encrypt the monitor's secrets with",
  other_key: "The monitor's secrets are encrypted for a different key than this agent's: rotate the agent's token",
} satisfies Record<NonNullable<WorkItem['secretsWithheld']>, string>;

/** Returns why the service withheld the secrets of an item; null if it did not. */
function withheldBecause({ secretsWithheld }: WorkItem): string | null {
  return secretsWithheld === undefined
    ? null
    : (WITHHELD[secretsWithheld] ?? "The service withholds the monitor's secrets");
}

/** Creates the assignment of an item with its opened or withheld secrets. */
export function assign(item: WorkItem, opened: OpenedSecrets): Assignment {
  const { sealedSecrets: _sealed, ...plain } = item;
  const { monitorId, sourceKey, intervalSeconds } = item;
  const target = opened.outcome === 'opened' ? checkTargetOf(item, opened.secrets) : null;
  const inability = opened.outcome === 'withheld' ? opened.inability : unknownBecause(item, target);
  return { monitorId, sourceKey, intervalSeconds, target, inability, identity: JSON.stringify([plain, opened]) };
}

function unknownBecause({ type, method }: WorkItem, target: CheckTarget | null): string | null {
  return target === null
    ? 'This version of the agent cannot check monitors of type ' +
        `${type}${method === null ? '' : ` with method ${method}`}`
    : null;
}
