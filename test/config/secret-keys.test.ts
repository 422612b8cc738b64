import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadOrCreateSecretKeys, parseSecretKeys } from '../../config/secret-keys.ts';

async function newDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'spotcheck-keys-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}

test('the generated key has 32 bytes, stays the same, and is readable only by its owner', async (t) => {
  const directory = join(await newDirectory(t), 'not', 'yet', 'there');
  const first = await loadOrCreateSecretKeys(directory);
  t.deepEqual(
    first.map(({ id, key }) => [id, key.length]),
    [['k1', 32]],
  );
  t.deepEqual(await loadOrCreateSecretKeys(directory), first);
  t.is((await stat(join(directory, 'secret-keys'))).mode & 0o777, 0o600);
  t.deepEqual(await readdir(directory), ['secret-keys']);
});

test('processes that start simultaneously share one key', async (t) => {
  const directory = await newDirectory(t);
  const rings = await Promise.all(Array.from({ length: 8 }, () => loadOrCreateSecretKeys(directory)));
  t.is(new Set(rings.map(([ring]) => ring?.key.toString('hex'))).size, 1);
});

test('a damaged key file is an error and is left unchanged', async (t) => {
  const directory = await newDirectory(t);
  await writeFile(join(directory, 'secret-keys'), 'k1:c2hvcnQ=\n');
  await t.throwsAsync(loadOrCreateSecretKeys(directory), { message: /does not contain a key ring/ });
  t.is(await readFile(join(directory, 'secret-keys'), 'utf8'), 'k1:c2hvcnQ=\n');
});

test('a key ring keeps the order of its keys', (t) => {
  const [a, b] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const ring = parseSecretKeys(`2026-11:${b.toString('base64')}, k1:${a.toString('base64')}`);
  t.deepEqual(ring, [
    { id: '2026-11', key: b },
    { id: 'k1', key: a },
  ]);
});
