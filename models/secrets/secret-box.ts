import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, hash } from 'node:crypto';

/** A key of the ring: an id that is written into the values it seals, and 32 bytes. */
export type SecretKey = { id: string; key: Buffer };

/**
 * Seals and opens values at rest. `context` identifies the row and field: a sealed value moved to another row does not
 * open. `derive` returns the secrets for a purpose, in base64url, the same in every process: one for each key, the
 * current key's first, so that those from before a change of keys work for as long as their keys. `keyIds` are in the
 * ring's order: the first one seals.
 */
export type SecretBox = {
  keyIds: readonly [string, ...string[]];
  seal(plain: string, context: string): string;
  open(sealed: string, context: string): string;
  derive(purpose: string): readonly [string, ...string[]];
};

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const DERIVED_BYTES = 32;

/**
 * Makes a box over a key ring (D-17): the first key seals, all of them open. Sealed format: `v1.<key id>.<base64url of
 * nonce, tag, ciphertext>`. Opening throws if the key is not in the ring, or the value or its context was tampered
 * with. Throws on an empty ring.
 */
export function createSecretBox(ring: readonly SecretKey[]): SecretBox {
  const [current] = ring;
  if (current === undefined) throw new Error('The key ring needs at least one key');
  // Keys are converted to key objects: Node takes some 16 us longer for each use of a buffer.
  const keys = new Map(ring.map(({ id, key }) => [id, createSecretKey(key)]));
  const currentKey = createSecretKey(current.key);
  return {
    keyIds: [current.id, ...ring.slice(1).map(({ id }) => id)],
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey, nonce).setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return `v1.${current.id}.${Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64url')}`;
    },
    open(sealed, context) {
      const [version, keyId = '', encoded = ''] = sealed.split('.');
      const key = keys.get(keyId);
      if (version !== 'v1' || key === undefined)
        throw new Error(`A value is sealed with key "${keyId}", which is not in SECRET_KEYS`);
      const bytes = Buffer.from(encoded, 'base64url');
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      }).setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      );
    },
    derive(purpose) {
      const derived = ({ key }: SecretKey) =>
        Buffer.from(hkdfSync('sha256', key, '', `derived:${purpose}`, DERIVED_BYTES)).toString('base64url');
      return [derived(current), ...ring.slice(1).map(derived)];
    },
  };
}

/**
 * Returns the id of the key that a value claims to be sealed with; empty if it is not a sealed value. Only opening
 * verifies it.
 */
export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

/**
 * Returns the SHA-256 that is stored for a token, a code or another generated secret. The secret is random, so that no
 * salt is needed, and a stolen table opens nothing.
 */
export function fingerprintOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
