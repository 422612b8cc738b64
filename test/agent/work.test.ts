import { generateKeyPairSync } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, open, readFile, rmdir, stat, utimes, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createWorkFile, createWorkReader, loadKeyPair, type SavedWork } from '../../agent/work.ts';
import type { WorkItem } from '../../core/agents/wire.ts';
import { publicKeyOf, sealFor } from '../helpers/sealed-box.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

function item(overrides: Partial<WorkItem> = {}): WorkItem {
  return {
    monitorId: 'mon_1',
    sourceKey: 'agt_1',
    type: 'http',
    target: 'http://127.0.0.1:9/',
    intervalSeconds: 60,
    timeoutMs: 5000,
    method: 'GET',
    expectedStatus: '2xx',
    followRedirects: true,
    checkSpec: {},
    ...overrides,
  };
}

test('an item without secrets becomes an assignment with its target', async (t) => {
  const read = createWorkReader(await loadKeyPair(await temporaryFolder(t)));
  const [assignment] = await read([item()]);
  t.like(assignment, {
    monitorId: 'mon_1',
    sourceKey: 'agt_1',
    intervalSeconds: 60,
    inability: null,
    target: { type: 'http', target: 'http://127.0.0.1:9/', secrets: {} },
  });
});

test("sealed secrets are decrypted, and resealing the same secrets keeps the assignment's identity", async (t) => {
  const keys = await loadKeyPair(await temporaryFolder(t));
  const read = createWorkReader(keys);
  const [first] = await read([
    item({ sealedSecrets: await sealFor(keys.publicKey, { secretHeaders: { 'X-Key': 'a' } }) }),
  ]);
  t.deepEqual(first?.target?.secrets, { secretHeaders: { 'X-Key': 'a' } });
  const [second] = await read([
    item({ sealedSecrets: await sealFor(keys.publicKey, { secretHeaders: { 'X-Key': 'a' } }) }),
  ]);
  t.is(second?.identity, first?.identity);
  const [third] = await read([
    item({ sealedSecrets: await sealFor(keys.publicKey, { secretHeaders: { 'X-Key': 'b' } }) }),
  ]);
  t.not(third?.identity, first?.identity);
});

test('an item with another target, interval or assertion is another assignment', async (t) => {
  const read = createWorkReader(await loadKeyPair(await temporaryFolder(t)));
  const items = [
    item(),
    item({ target: 'http://127.0.0.1:10/' }),
    item({ intervalSeconds: 30 }),
    item({ checkSpec: { assertions: [{ source: 'text_body', op: 'contains', value: 'x' }] } }),
  ];
  const assignments = await read(items.map((one, index) => ({ ...one, monitorId: `mon_${index}` })));
  t.is(new Set(assignments.map(({ identity, monitorId }) => identity.replaceAll(monitorId, ''))).size, 4);
});

const UNABLE: readonly [what: string, overrides: object, inability: RegExp][] = [
  ['whose secrets are withheld for lack of a key', { secretsWithheld: 'no_key' }, /no key of this agent/],
  ['whose secrets are withheld because of another key', { secretsWithheld: 'other_key' }, /different key .* rotate/],
  ['whose secrets are withheld for an unknown reason', { secretsWithheld: 'later' }, /withholds the monitor's secrets/],
  ['whose secrets cannot be decrypted', { sealedSecrets: 'AAAA' }, /cannot be decrypted with this agent's key/],
  ['of an unknown type', { type: 'quic' }, /cannot check monitors of type quic/],
  ['with an unknown method', { method: 'QUERY' }, /type http with method QUERY/],
];
for (const [what, overrides, inability] of UNABLE) {
  test(`an item ${what} has no target but a reason`, async (t) => {
    const read = createWorkReader(await loadKeyPair(await temporaryFolder(t)));
    const [assignment] = await read([item(overrides)]);
    t.is(assignment?.target, null);
    t.regex(assignment?.inability ?? '', inability);
  });
}

const SAVED: SavedWork = {
  answer: { agentId: 'agt_1', agentKind: 'tenant', capabilities: [], work: [item()] },
  etag: '"7"',
};

test('work is saved for the next run, readable only by its owner, until it is removed', async (t) => {
  const folder = await temporaryFolder(t);
  const file = createWorkFile(folder, Date.now);
  t.is(await file.load(), null);
  await file.save(SAVED);
  t.deepEqual(await createWorkFile(folder, Date.now).load(), SAVED);
  t.is((await stat(join(folder, 'work.json'))).mode & 0o777, 0o600);
  await file.remove();
  t.is(await file.load(), null);
});

test('saved work expires a day after its last confirmation, which renews it at most once an hour', async (t) => {
  const folder = await temporaryFolder(t);
  let nowMs = Date.now();
  const file = createWorkFile(folder, () => nowMs);
  await file.save(SAVED);
  const path = join(folder, 'work.json');
  const yesterday = (nowMs - 22 * 3_600_000) / 1000;
  await utimes(path, yesterday, yesterday);
  await file.confirm();
  t.is(Math.round((await stat(path)).mtimeMs / 1000), Math.round(yesterday));
  nowMs += 3_600_001;
  t.not(await file.load(), null);
  await file.confirm();
  t.true((await stat(path)).mtimeMs > nowMs - 2000);
  nowMs += 24 * 3_600_000 + 2000;
  t.is(await file.load(), null);
});

test('work that failed to save is saved on a later confirmation; until then the old copy is not renewed', async (t) => {
  const folder = await temporaryFolder(t);
  let nowMs = Date.now();
  const file = createWorkFile(folder, () => nowMs);
  await file.save(SAVED);
  const draft = join(folder, 'work.json.new');
  await mkdir(draft);
  const newer = { ...SAVED, etag: '"8"' };
  await t.throwsAsync(file.save(newer), { code: 'EISDIR' });
  const { mtimeMs } = await stat(join(folder, 'work.json'));
  nowMs += 3_600_001;
  await t.throwsAsync(file.confirm(), { code: 'EISDIR' });
  t.is((await stat(join(folder, 'work.json'))).mtimeMs, mtimeMs);
  t.deepEqual(await file.load(), SAVED);
  await rmdir(draft);
  nowMs += 3_600_001;
  await file.confirm();
  t.deepEqual(await file.load(), newer);
});

/** Calls back before each file or folder is forced to the disk. */
async function beforeSyncs(t: ExecutionContext, folder: string, call: (facts: Stats) => void): Promise<void> {
  const anyFile = await open(folder);
  const handles = Object.getPrototypeOf(anyFile);
  await anyFile.close();
  const { sync } = handles;
  handles.sync = async function (this: FileHandle) {
    call(await this.stat());
    await sync.call(this);
  };
  t.teardown(() => (handles.sync = sync));
}

test.serial('the keys and the work are on the disk, and then their names, before they are used', async (t) => {
  const folder = await temporaryFolder(t);
  const synced: number[] = [];
  await beforeSyncs(t, folder, ({ ino }) => void synced.push(ino));
  await loadKeyPair(folder);
  await createWorkFile(folder, Date.now).save(SAVED);
  const inodes = ['key.json', '', 'work.json', ''].map(async (name) => (await stat(join(folder, name))).ino);
  t.deepEqual(synced, await Promise.all(inodes));
});

for (const code of ['EINVAL', 'ENOTSUP', 'EPERM']) {
  test.serial(`keys are created in a folder that cannot be forced to the disk: ${code}`, async (t) => {
    const folder = await temporaryFolder(t);
    await beforeSyncs(t, folder, (facts) => {
      if (facts.isDirectory()) throw Object.assign(new Error('cannot sync'), { code });
    });
    const { publicKey } = await loadKeyPair(folder);
    t.is((await loadKeyPair(folder)).publicKey, publicKey);
  });
}

test.serial('keys in a folder whose disk is broken are an error', async (t) => {
  const folder = await temporaryFolder(t);
  await beforeSyncs(t, folder, (facts) => {
    if (facts.isDirectory()) throw Object.assign(new Error('broken'), { code: 'EIO' });
  });
  await t.throwsAsync(loadKeyPair(folder), { code: 'EIO' });
});

test('a damaged work file is ignored and left alone', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'work.json'), '{"answer":{');
  t.is(await createWorkFile(folder, Date.now).load(), null);
  t.is(await readFile(join(folder, 'work.json'), 'utf8'), '{"answer":{');
});

test('the keys are created once, readable only by their owner, and form a valid libsodium key pair', async (t) => {
  const folder = await temporaryFolder(t);
  const first = await loadKeyPair(folder);
  const second = await loadKeyPair(folder);
  t.is(first.publicKey, second.publicKey);
  t.is((await stat(join(folder, 'key.json'))).mode & 0o777, 0o600);
  const { publicKey, privateKey } = JSON.parse(await readFile(join(folder, 'key.json'), 'utf8'));
  t.is(await publicKeyOf(privateKey), publicKey);
});

test('a box that libsodium sealed to the public key opens, even after a restart', async (t) => {
  const folder = await temporaryFolder(t);
  const sealed = await sealFor((await loadKeyPair(folder)).publicKey, { secretHeaders: { 'X-Key': 'grün' } });
  t.deepEqual(await (await loadKeyPair(folder)).open(sealed), { secretHeaders: { 'X-Key': 'grün' } });
});

test('a box for another key, a modified box and a box that contains no object do not open', async (t) => {
  const keys = await loadKeyPair(await temporaryFolder(t));
  const others = await loadKeyPair(await temporaryFolder(t));
  const good = await sealFor(keys.publicKey, {});
  t.deepEqual(await keys.open(good), {});
  const changed = Buffer.from(good, 'base64');
  changed[40] = (changed[40] ?? 0) ^ 1;
  for (const sealed of [
    await sealFor(others.publicKey, {}),
    changed.toString('base64'),
    await sealFor(keys.publicKey, 'text'),
    await sealFor(keys.publicKey, null),
    '',
    '!',
  ]) {
    t.is(await keys.open(sealed), null);
  }
});

const pairOf = () => {
  const { x = '', d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return {
    publicKey: Buffer.from(x, 'base64url').toString('base64'),
    privateKey: Buffer.from(d, 'base64url').toString('base64'),
  };
};
const DAMAGED = [
  '',
  '{',
  '[]',
  'null',
  '{"publicKey":"abc=","privateKey":"abc="}',
  JSON.stringify({ publicKey: pairOf().publicKey }),
];
for (const text of DAMAGED) {
  test(`a key file with ${JSON.stringify(text.slice(0, 30))} is an error, and no new keys are created`, async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'key.json'), text);
    const error = await t.throwsAsync(loadKeyPair(folder));
    t.true(error?.message.includes(join(folder, 'key.json')));
    t.is(await readFile(join(folder, 'key.json'), 'utf8'), text);
  });
}
