import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, renameSync, symlinkSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { lockExclusively } from '../../config/exclusive-lock.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

class Held extends Error {}

const lock = (folder: string) => lockExclusively(join(folder, 'lock.json'), (pid) => new Held(`process ${pid} has it`));

test('a lock has one holder at a time, and can be acquired again after its release', async (t) => {
  const folder = await temporaryFolder(t);
  const release = await lock(folder);
  const error = await t.throwsAsync(lock(folder), { instanceOf: Held });
  t.true(error?.message.includes(String(process.pid)));
  await release();
  await (
    await lock(folder)
  )();
  t.deepEqual(await readdir(folder), []);
});

test('the lock of a killed process is taken over', async (t) => {
  const folder = await temporaryFolder(t);
  const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
  const line = await readFile(`/proc/${child.pid}/stat`, 'utf8');
  await writeFile(
    join(folder, 'lock.json'),
    JSON.stringify({ pid: child.pid, identity: line.slice(line.lastIndexOf(')') + 2).split(' ')[19] }),
  );
  await t.throwsAsync(lock(folder), { instanceOf: Held });
  child.kill('SIGKILL');
  await once(child, 'exit');
  await (
    await lock(folder)
  )();
  t.pass();
});

test('a lock whose pid was reused by another process is taken over', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'lock.json'), JSON.stringify({ pid: process.pid, identity: '1' }));
  await (
    await lock(folder)
  )();
  t.pass();
});

const HOLD = `
  import { lockExclusively } from ${JSON.stringify(import.meta.resolve('../../config/exclusive-lock.ts'))};
  await lockExclusively(process.argv[1], () => new Error());
  console.log('held');
  setInterval(() => {}, 1000);
`;

const HOLD_ONCE = `
  import { lockExclusively } from ${JSON.stringify(import.meta.resolve('../../config/exclusive-lock.ts'))};
  const release = await lockExclusively(process.argv[1], () => new Error()).catch(() => null);
  console.log(release === null ? 'refused' : 'held');
`;

test("another container respects a stopped process's lock, and takes over a killed one's at once", async (t) => {
  if (process.platform !== 'linux') return t.pass();
  // The path of a socket must be shorter than this folder's.
  const folder = join(await temporaryFolder(t), 'x'.repeat(120));
  await mkdir(folder);
  const path = join(folder, 'lock.json');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', HOLD, path]);
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  // In another container the pid is another process's.
  const holder: Record<string, unknown> = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...holder, pid: process.pid, identity: '1' }));
  await t.throwsAsync(lock(folder), { instanceOf: Held });
  t.deepEqual(
    (await readdir(folder)).toSorted(),
    ['lock.json', holder['socket']],
    'a refused process leaves nothing behind',
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  const release = await lock(folder);
  t.is((await readdir(folder)).length, 2, "the dead process's socket is removed");
  await release();
  t.deepEqual(await readdir(folder), []);
});

const LISTEN = `
  require('node:net').createServer().listen(process.argv[1], () => console.log('listens'));
`;

test('files of processes that were killed before they got the lock are removed a minute later', async (t) => {
  if (process.platform !== 'linux') return t.pass();
  const folder = await temporaryFolder(t);
  const listen = async (name: string) => {
    const child = spawn(process.execPath, ['--eval', LISTEN, join(folder, name)]);
    t.teardown(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    return async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
  };
  const [old, fresh] = ['lock.json.old.socket', 'lock.json.fresh.socket'];
  for (const name of [old, fresh]) await (await listen(name))();
  await listen('lock.json.live.socket');
  for (const name of ['lock.json.old.new', 'lock.json.fresh.new', 'other.json.old.socket'])
    await writeFile(join(folder, name), '{}');
  const before = new Date(Date.now() - 61_000);
  for (const name of [old, 'lock.json.live.socket', 'lock.json.old.new', 'other.json.old.socket'])
    await utimes(join(folder, name), before, before);
  const release = await lock(folder);
  await release();
  t.deepEqual((await readdir(folder)).toSorted(), [
    'lock.json.fresh.new',
    fresh,
    'lock.json.live.socket',
    'other.json.old.socket',
  ]);
});

const WITHOUT_PROC = `mount -t tmpfs none /proc && exec "$0" --input-type=module --eval "$1" "$2"`;

test('a process that cannot reach the socket of a lock, without /proc, respects the lock', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'lock.json');
  const release = await lock(folder);
  const other = spawn('unshare', ['-Urm', 'sh', '-c', WITHOUT_PROC, process.execPath, HOLD_ONCE, path]);
  let output = '';
  other.stdout.on('data', (data) => (output += String(data)));
  await once(other, 'close').catch(() => undefined);
  // Empty where no process may have a /proc of its own.
  t.true(['', 'refused\n'].includes(output), output);
  await release();
});

test('processes of two containers that have the same pid take a lock one at a time', async (t) => {
  const folder = await temporaryFolder(t);
  const attempts = await Promise.allSettled(Array.from({ length: 10 }, () => lock(folder)));
  const releases = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  t.is(releases.length, 1);
  const refused = attempts.filter((attempt) => attempt.status === 'rejected' && attempt.reason instanceof Held);
  t.is(refused.length, 9);
  const { socket } = JSON.parse(await readFile(join(folder, 'lock.json'), 'utf8'));
  if (process.platform === 'linux') t.deepEqual((await readdir(folder)).toSorted(), ['lock.json', socket]);
  await releases[0]?.();
  t.deepEqual(await readdir(folder), []);
});

const isRoot = process.getuid?.() === 0;

test('a lock is readable only by its owner', async (t) => {
  const folder = await temporaryFolder(t);
  const release = await lock(folder);
  t.is((await stat(join(folder, 'lock.json'))).mode & 0o777, 0o600);
  await release();
});

const UNPRIVILEGED = `
  import { lockExclusively } from ${JSON.stringify(import.meta.resolve('../../config/exclusive-lock.ts'))};
  process.seteuid(65_532);
  await lockExclusively(process.argv[1], () => new Error()).catch((error) => console.log(error.code));
`;

if (isRoot) {
  test("the owner of a folder can read whether the holder of root's lock lives", async (t) => {
    const folder = await temporaryFolder(t);
    await chown(folder, 65_534, 65_533);
    const release = await lock(folder);
    for (const name of await readdir(folder)) t.like(await stat(join(folder, name)), { uid: 65_534, gid: 65_533 });
    await release();
  });

  test('a link with the name of a socket does not give its target away', async (t) => {
    const [folder, other] = [await temporaryFolder(t), join(await temporaryFolder(t), 'file')];
    await writeFile(other, '');
    await chown(folder, 65_534, 65_533);
    let isReplaced = false;
    const watch = () => {
      const name = readdirSync(folder).find((entry) => entry.endsWith('.socket'));
      if (name === undefined) return setImmediate(watch);
      renameSync(join(folder, name), join(folder, 'moved'));
      symlinkSync(other, join(folder, name));
      isReplaced = true;
    };
    watch();
    const release = await lock(folder);
    t.true(isReplaced);
    t.like(await stat(other), { uid: 0, gid: 0 });
    await release();
  });

  test('a process that may not give files away leaves no socket behind', async (t) => {
    const folder = await temporaryFolder(t);
    await chmod(folder, 0o777);
    await chown(folder, 65_534, 65_533);
    // Folders above it may be closed to other accounts.
    const child = spawn(process.execPath, ['--input-type=module', '--eval', UNPRIVILEGED, './lock.json'], {
      cwd: folder,
    });
    const [output] = await once(child.stdout, 'data');
    t.is(String(output), 'EPERM\n');
    await once(child, 'close');
    t.deepEqual(await readdir(folder), []);
  });
} else test('this is not root, so no lock of root was taken', (t) => t.pass());

test('a dead lock is taken over by one process at a time, and after the death of one that began to', async (t) => {
  const folder = await temporaryFolder(t);
  const [path, dead] = [join(folder, 'lock.json'), JSON.stringify({ pid: process.pid, identity: '1' })];
  await writeFile(path, dead);
  const endTurn = await lockExclusively(`${path}.turn`, () => new Held());
  await t.throwsAsync(lock(folder), { instanceOf: Held });
  t.is(await readFile(path, 'utf8'), dead, 'only the process whose turn it is removes the lock');
  await endTurn();
  await writeFile(`${path}.turn`, dead);
  const release = await lock(folder);
  t.is(JSON.parse(await readFile(path, 'utf8')).pid, process.pid);
  await release();
  t.deepEqual(await readdir(folder), []);
});

for (const text of ['', '{', '{"pid":"x"}', 'null']) {
  test(`a lock file with the content ${JSON.stringify(text)} blocks no process`, async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'lock.json'), text);
    await (
      await lock(folder)
    )();
    t.deepEqual(await readdir(folder), []);
  });
}
