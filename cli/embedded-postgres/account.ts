import { chown, readFile, stat } from 'node:fs/promises';

/** The system account that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

const UNPRIVILEGED: Account = { uid: 65_534, gid: 65_534 };

/**
 * Chooses the account to run PostgreSQL as, which refuses to run as root: null = the one we run as. As root it is the
 * owner of an existing directory, so that a later start finds the same one, else `postgres` where there is such an
 * account, else `nobody`.
 */
export async function chooseAccount(directory: string): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(directory);
  if (uid !== 0) return { uid, gid };
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return findAccount(passwd, 'postgres') ?? findAccount(passwd, 'nobody') ?? UNPRIVILEGED;
}

export async function giveTo(path: string, account: Account | null): Promise<void> {
  if (account !== null) await chown(path, account.uid, account.gid);
}

/** Finds an account in the text of passwd(5); uids may be written as negative numbers there. */
function findAccount(passwd: string, name: string): Account | null {
  const fields = passwd
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
    ?.split(':');
  if (fields?.[2] === undefined || fields[3] === undefined) return null;
  return { uid: Number(fields[2]) >>> 0, gid: Number(fields[3]) >>> 0 };
}
