import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const argon2Async = promisify(argon2);

/** OWASP's second choice for argon2id: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** Hashes a password with argon2id and a fresh salt: `argon2id$<memory KiB>$<passes>$<salt>$<tag>`, base64url. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await argon2Async('argon2id', { message: password, nonce, ...PARAMETERS });
  return formOf(nonce, tag);
}

function formOf(nonce: Buffer, tag: Buffer): string {
  return ['argon2id', PARAMETERS.memory, PARAMETERS.passes, nonce.toString('base64url'), tag.toString('base64url')].join('$');
}

/** A hash that no password has: its salt and tag are zeros. */
const NOBODYS_HASH = formOf(Buffer.alloc(16), Buffer.alloc(PARAMETERS.tagLength));

/**
 * True when the password is the one that was hashed; false also for a hash in an unknown form. Null stands for the hash of somebody who is not there:
 * the same work is done for it, so that no time tells who is.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const [algorithm, memory, passes, salt = '', tag = ''] = (hash ?? NOBODYS_HASH).split('$');
  if (algorithm !== 'argon2id') return false;
  const expected = Buffer.from(tag, 'base64url');
  const actual = await argon2Async('argon2id', {
    message: password,
    nonce: Buffer.from(salt, 'base64url'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: PARAMETERS.parallelism,
    tagLength: expected.length,
  });
  return timingSafeEqual(actual, expected);
}
