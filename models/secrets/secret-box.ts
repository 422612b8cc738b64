import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, hash } from 'node:crypto';

/** One key of the ring: an id that is written into what it seals, and 32 bytes. */
export type SecretKey = { id: string; key: Buffer };

/**
 * Seals and opens values at rest. `context` names the row and field: a sealed value moved to another row does not open.
 * `derive` makes the secrets of a purpose, in base64url, the same in every process: one of each key, the present key's
 * first, so that those of before a change of keys are known for as long as theirs are. `keyIds` are in the ring's
 * order: the first one seals.
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
 * A box over a key ring (D-17): the first key seals, all of them open. Sealed form: `v1.<key id>.<base64url of nonce,
 * tag, ciphertext>`. Opening throws when the key is not in the ring, or the value or its context was tampered with.
 * Throws on an empty ring.
 */
export function createSecretBox(ring: readonly SecretKey[]): SecretBox {
  const [current] = ring;
  if (current === undefined) throw new Error('The key ring needs at least one key');
  // As key objects: Node takes some 16 us longer over each use of a key that comes as a buffer.
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
 * The id of the key that a value says it is sealed with; empty where it is no sealed value. Whether it is true only
 * opening tells.
 */
export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

/**
 * What is stored of a token, a code or another secret text that we made: its SHA-256. The text is random, so that no
 * salt is needed, and a stolen table opens nothing.
 */
export function fingerprintOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
