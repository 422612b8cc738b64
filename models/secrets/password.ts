import { randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** OWASP's second choice for argon2id: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** How many passwords wait for their turn, which is a second or two: one is hashed at a time. */
const MAX_WAITING = 64;

/** An idle thread ends after this, in milliseconds. */
const IDLE_MS = 10_000;

/** Nothing is hashed for this caller: too many wait already. */
export class PasswordsBusy extends Error {
  constructor() {
    super('Too many passwords are being hashed');
    this.name = 'PasswordsBusy';
  }
}

let isHashing = false;
const waiting: (() => void)[] = [];
let thread: Worker | null = null;
let idling: NodeJS.Timeout | undefined;

/** Hashes one password after the other, of all callers; throws `PasswordsBusy` where too many wait. */
async function hash(parameters: Argon2Parameters): Promise<Buffer> {
  if (isHashing && waiting.length >= MAX_WAITING) throw new PasswordsBusy();
  if (isHashing) await new Promise<void>((resolve) => waiting.push(resolve));
  isHashing = true;
  try {
    return await hashInThread(parameters);
  } finally {
    const next = waiting.shift();
    if (next === undefined) isHashing = false;
    else next();
  }
}

/**
 * Has the thread hash, which does nothing else. In Node's own pool each of its 64 threads would keep the memory of the
 * last hash that it made: more than a gigabyte, under guessing.
 */
async function hashInThread(parameters: Argon2Parameters): Promise<Buffer> {
  clearTimeout(idling);
  const hasher = (thread ??= startThread());
  hasher.ref();
  hasher.postMessage(parameters, []);
  const answer = await answerOf(hasher);
  hasher.unref();
  idling = setTimeout(() => endThread(hasher), IDLE_MS).unref();
  if (answer instanceof Error) throw answer;
  return Buffer.from(answer);
}

/** Rejects where the thread ends before it answers: the callers behind this one get a new thread. */
async function answerOf(hasher: Worker): Promise<Uint8Array | Error> {
  const settled = new AbortController();
  const { signal } = settled;
  const ended = once(hasher, 'exit', { signal }).then(() =>
    Promise.reject(new Error('The thread that hashes passwords has ended')),
  );
  try {
    const [answer] = (await Promise.race([once(hasher, 'message', { signal }), ended])) as [Uint8Array | Error];
    return answer;
  } finally {
    settled.abort();
  }
}

function startThread(): Worker {
  const started = new Worker(new URL('password-thread.ts', import.meta.url), { execArgv: [] });
  return started.once('error', () => endThread(started)).once('exit', () => endThread(started));
}

/** Forgets the thread first: one that is ending answers no more. */
function endThread(ended: Worker): void {
  if (thread === ended) thread = null;
  void ended.terminate();
}

/** Hashes a password with argon2id and a fresh salt: `argon2id$<memory KiB>$<passes>$<salt>$<tag>`, base64url. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash({ message: password, nonce, ...PARAMETERS });
  return formOf(nonce, tag);
}

function formOf(nonce: Buffer, tag: Buffer): string {
  return [
    'argon2id',
    PARAMETERS.memory,
    PARAMETERS.passes,
    nonce.toString('base64url'),
    tag.toString('base64url'),
  ].join('$');
}

/** A hash that no password has: its salt and tag are zeros. People who have no password have it. */
export const NO_PASSWORD_HASH = formOf(Buffer.alloc(16), Buffer.alloc(PARAMETERS.tagLength));

/**
 * True when the password is the one that was hashed; false also for a hash in an unknown form. Null stands for the hash
 * of an unknown user: the same work is done for it, so that its duration does not show who is one.
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [algorithm, memory, passes, salt = '', tag = ''] = (stored ?? NO_PASSWORD_HASH).split('$');
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
