import { chmod, chown, copyFile, lstat, mkdir, open, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import { isFulfilled } from '../../core/time.ts';
import { withConnection } from '../../postgres/client.ts';

/**
 * Folders of a cluster whose contents belong to a running server or to one session; the necessary log is copied
 * separately.
 */
const LEFT_EMPTY = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);

/** Files of a running server, and of sessions, that must not be in a copy. */
const LEFT_OUT =
  /^(postmaster\.(pid|opts)|pg_internal\.init.*|backup_label(\.old)?|tablespace_map(\.old)?|pgsql_tmp.*)$/;

/** The file with the server's log position is copied last, and in one read. */
const CONTROL = join('global', 'pg_control');

type BackupOptions = { databaseUrl: string; dataDir: string; to: string };

/**
 * Copies the running embedded PostgreSQL of a data directory, with its password. The copy can serve as `postgres` of
 * another data directory, as of the end of the copying (PostgreSQL manual, "Making a Base Backup Using the Low Level
 * API"). Copying blocks no query. `to` must not exist. Rejects if the server was started by a release that does not
 * support copying while it runs.
 */
export async function backUpCluster({ databaseUrl, dataDir, to }: BackupOptions): Promise<void> {
  const from = join(dataDir, 'postgres');
  await makeFolder(from, to);
  await copyEntry(join(from, 'password'), join(to, 'password'));
  await withConnection(databaseUrl, (client) => copyCluster(client, join(from, 'cluster'), join(to, 'cluster')));
}

async function copyCluster(client: Client, from: string, to: string): Promise<void> {
  const { rows: settings } = await client.query<{ wal_level: string }>('SHOW wal_level');
  if (settings[0]?.wal_level === 'minimal')
    throw new Error('The database was started by an older release: restart the service, then back up again');
  // The slot ends with this session, however that ends; until then the server keeps the log that the copy needs.
  await client.query(`SELECT pg_create_physical_replication_slot('spotcheck_backup_' || pg_backend_pid(), true, true)`);
  const {
    rows: [began],
  } = await client.query<{ file: string }>(
    `SELECT pg_walfile_name(pg_backup_start('spotcheck', fast => true)) AS file`,
  );
  await copyTree(from, to);
  await copyEntry(join(from, CONTROL), join(to, CONTROL));
  const {
    rows: [ended],
  } = await client.query<{ file: string; labelfile: string }>(
    'SELECT pg_walfile_name(lsn) AS file, labelfile FROM pg_backup_stop(wait_for_archive => false)',
  );
  if (began === undefined || ended === undefined)
    throw new Error('PostgreSQL did not say where the backup begins and ends');
  const log = (await readdir(join(from, 'pg_wal'))).filter(
    (name) => /^[0-9A-F]{24}$/.test(name) && name >= began.file && name <= ended.file,
  );
  if (!log.includes(began.file) || !log.includes(ended.file))
    throw new Error('PostgreSQL has removed a part of its log that the backup needs');
  for (const name of log) await copyEntry(join(from, 'pg_wal', name), join(to, 'pg_wal', name));
  const label = join(to, 'backup_label');
  await writeFile(label, ended.labelfile, { mode: 0o600 });
  await copyOwner(from, label);
  await syncPath(label);
}

/** Copies a tree. The log contains the removal of files and folders that disappear meanwhile. */
async function copyTree(from: string, to: string): Promise<void> {
  await makeFolder(from, to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (LEFT_OUT.test(entry.name) || source.endsWith(CONTROL)) continue;
    if (LEFT_EMPTY.has(entry.name)) await makeFolder(source, target);
    else await (entry.isDirectory() ? copyTree(source, target) : copyEntry(source, target)).catch(ignoreGone(source));
  }
}

function ignoreGone(path: string): (error: NodeJS.ErrnoException) => Promise<void> {
  return async (error) => {
    // Of a copy whose target is gone, the error also names the source.
    if (error.code !== 'ENOENT' || (await isFulfilled(lstat(path)))) throw error;
  };
}

/** Creates a folder as the server requires it: owned by its account, and closed to others. */
async function makeFolder(like: string, path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await copyOwner(like, path);
}

/** Copies a file, closed to others, and writes it to the disk. */
export async function copyEntry(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o600);
  await copyOwner(from, to);
  await syncPath(to);
}

/** Gives a file or folder to the owner of another one, if root runs this. */
export async function copyOwner(like: string, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(like);
  await chown(path, uid, gid);
}

/** Syncs a folder and its subfolders to the disk, so that the names in them are durable. */
export async function syncFolders(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(path, entry.name));
  await syncPath(path);
}

/** Syncs a file or folder to the disk: a power cut must not empty a backup. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
