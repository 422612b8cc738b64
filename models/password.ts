import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';

const argon2Async = promisify(argon2);

/** OWASP's second choice for argon2id: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** How many passwords this process hashes at once: each takes a processor and 19 MiB for as long as it lasts. */
const AT_ONCE = 2;

/** How many wait for their turn beyond those, which is a second or two. */
const MAX_WAITING = 64;

/** Nothing is hashed for this caller: too many wait already. */
export class PasswordsBusy extends Error {
  constructor() {
    super('Too many passwords are being hashed');
    this.name = 'PasswordsBusy';
  }
}

let hashing = 0;
const waiting: (() => void)[] = [];

/** Hashes with bounded memory, whoever asks; throws `PasswordsBusy` where too many wait. */
async function hash(parameters: Argon2Parameters): Promise<Buffer> {
  if (hashing < AT_ONCE) hashing += 1;
  else if (waiting.length < MAX_WAITING) await new Promise<void>((resolve) => waiting.push(resolve));
  else throw new PasswordsBusy();
  try {
    return await argon2Async('argon2id', parameters);
  } finally {
    const next = waiting.shift();
    if (next === undefined) hashing -= 1;
    else next();
  }
}

/** Hashes a password with argon2id and a fresh salt: `argon2id$<memory KiB>$<passes>$<salt>$<tag>`, base64url. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash({ message: password, nonce, ...PARAMETERS });
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
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [algorithm, memory, passes, salt = '', tag = ''] = (stored ?? NOBODYS_HASH).split('$');
  if (algorithm !== 'argon2id') return false;
  const expected = Buffer.from(tag, 'base64url');
  const actual = await hash({
    message: password,
    nonce: Buffer.from(salt, 'base64url'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: PARAMETERS.parallelism,
    tagLength: expected.length,
  });
  return timingSafeEqual(actual, expected);
}
