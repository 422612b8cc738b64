import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, link, readdir, readFile, stat, writeFile } from 'node:fs/promises';
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

test('of another container, a lock that is renewed is respected, and one that is not is taken over', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'lock.json');
  const release = await lock(folder);
  const { namespace, ...holder }: Record<string, unknown> = JSON.parse(await readFile(path, 'utf8'));
  // The process lives, but a container where its pid is another's cannot see that.
  await writeFile(path, JSON.stringify({ ...holder, identity: '1', namespace: `another ${String(namespace)}` }));
  await t.throwsAsync(lock(folder), { instanceOf: Held });
  await release();
  await writeFile(path, JSON.stringify({ ...holder, namespace: `another ${String(namespace)}` }));
  const takeOver = await lock(folder);
  t.is(JSON.parse(await readFile(path, 'utf8')).namespace, namespace);
  await takeOver();
});

test('a process with the pid of one killed while it took the lock is not refused by the remains', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'lock.json');
  await writeFile(path, JSON.stringify({ pid: process.pid, identity: '1' }));
  await link(path, `${path}.${process.pid}.new`);
  const release = await lock(folder);
  t.deepEqual(await readdir(folder), ['lock.json']);
  await release();
});

const isRoot = process.getuid?.() === 0;

test('a lock is readable only by its owner', async (t) => {
  const folder = await temporaryFolder(t);
  const release = await lock(folder);
  t.is((await stat(join(folder, 'lock.json'))).mode & 0o777, 0o600);
  await release();
});

if (isRoot)
  test("the owner of a folder can read whether the holder of root's lock lives", async (t) => {
    const folder = await temporaryFolder(t);
    await chown(folder, 65_534, 65_533);
    const release = await lock(folder);
    t.like(await stat(join(folder, 'lock.json')), { uid: 65_534, gid: 65_533 });
    await release();
  });
else test('this is not root, so no lock of root was taken', (t) => t.pass());

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
  t.deepEqual(await readdir(folder), ['lock.json']);
  await release();
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
