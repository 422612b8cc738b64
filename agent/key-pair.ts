import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkSecrets } from '../core/agents/wire.ts';
import { writeWhole } from './work-file.ts';

/** The agent's X25519 keys: the public one, base64, is what the service seals secrets to. */
export type KeyPair = {
  publicKey: string;
  /**
   * Opens a libsodium sealed box (base64) with `WorkSecrets` in it; null for one that is not for this key, or holds
   * something else.
   */
  open: (sealed: string) => Promise<WorkSecrets | null>;
};

/**
 * Loads the keys from the agent's folder; the first start makes them. A damaged file is an error: with new keys the
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
 * Makes the same key pair as `crypto_box_keypair`: 32 random bytes and their product with the curve's base point. Only
 * where there is a box to open is libsodium loaded.
 */
function makeKeys(): Keys {
  const { x = '', d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return { publicKey: toBase64(x), privateKey: toBase64(d) };
}

function readKeys(text: string, path: string): Keys {
  const keys: Partial<Keys> = readJson(text);
  if (isKey(keys.publicKey) && isKey(keys.privateKey)) {
    // Throws where the two do not belong together.
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
      // 14 MB that an agent without secrets does without.
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
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
