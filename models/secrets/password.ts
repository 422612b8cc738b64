import { randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** OWASP's second choice for argon2id: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** Maximum number of waiting passwords, which take a second or two: one is hashed at a time. */
const MAX_WAITING = 64;

/** Time after which an idle thread ends, in milliseconds. */
const IDLE_MS = 10_000;

/** Thrown if too many passwords are waiting to be hashed. */
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

/** Hashes passwords one after the other, for all callers; throws `PasswordsBusy` if too many wait. */
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
 * Hashes in a dedicated thread. In Node's own pool each of its 64 threads would keep the memory of its last hash: more
 * than a gigabyte during password guessing.
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

/** Returns the thread's answer. Rejects if the thread ends before: the next callers get a new one. */
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

/** Ends a thread. It is removed first, because an ending thread no longer responds. */
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

/** A hash that no password has, because its salt and tag are zeros; for people without a password. */
export const NO_PASSWORD_HASH = formOf(Buffer.alloc(16), Buffer.alloc(PARAMETERS.tagLength));

/**
 * Reports whether a password matches a hash; false also for a hash in an unknown format. Null is for unknown users:
 * verifying takes as long, so that the duration does not reveal who is a user.
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
