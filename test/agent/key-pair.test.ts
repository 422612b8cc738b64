import { generateKeyPairSync } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { loadKeyPair } from '../../agent/work.ts';
import { publicKeyOf, sealFor } from '../helpers/sealed-box.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('the keys are made once, for their owner only, and are what libsodium takes for a pair', async (t) => {
  const folder = await temporaryFolder(t);
  const first = await loadKeyPair(folder);
  const second = await loadKeyPair(folder);
  t.is(first.publicKey, second.publicKey);
  t.is((await stat(join(folder, 'key.json'))).mode & 0o777, 0o600);
  const { publicKey, privateKey } = JSON.parse(await readFile(join(folder, 'key.json'), 'utf8'));
  t.is(await publicKeyOf(privateKey), publicKey);
});

test('a box that libsodium sealed to the public key opens, after a restart too', async (t) => {
  const folder = await temporaryFolder(t);
  const sealed = await sealFor((await loadKeyPair(folder)).publicKey, { secretHeaders: { 'X-Key': 'grün' } });
  t.deepEqual(await (await loadKeyPair(folder)).open(sealed), { secretHeaders: { 'X-Key': 'grün' } });
});

test('a box for another key, one that was changed, and one with something else in it do not open', async (t) => {
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
  test(`a key file that says ${JSON.stringify(text.slice(0, 30))} is an error, no reason for new keys`, async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'key.json'), text);
    const error = await t.throwsAsync(loadKeyPair(folder));
    t.true(error?.message.includes(join(folder, 'key.json')));
    t.is(await readFile(join(folder, 'key.json'), 'utf8'), text);
  });
}
