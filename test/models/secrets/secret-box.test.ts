import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';

const OLD = { id: 'old', key: randomBytes(32) };
const NEW = { id: 'new', key: randomBytes(32) };

test('a sealed value opens again, and sealing never gives the same result twice', (t) => {
  const box = createSecretBox([NEW]);
  const sealed = box.seal('s3cret', 'monitor:1');
  t.is(box.open(sealed, 'monitor:1'), 's3cret');
  t.not(box.seal('s3cret', 'monitor:1'), sealed);
  t.notRegex(sealed, /s3cret/);
});

test('after a key rotation the new key seals and the old one still opens', (t) => {
  const sealed = createSecretBox([OLD]).seal('s3cret', 'x');
  const rotated = createSecretBox([NEW, OLD]);
  t.is(rotated.open(sealed, 'x'), 's3cret');
  t.regex(rotated.seal('s3cret', 'x'), /^v1\.new\./);
});

test('a value moved to another row or field does not open', (t) => {
  const box = createSecretBox([NEW]);
  t.throws(() => box.open(box.seal('s3cret', 'monitor:1'), 'monitor:2'));
});

test('a tampered value does not open', (t) => {
  const box = createSecretBox([NEW]);
  const sealed = box.seal('s3cret', 'x');
  t.throws(() => box.open(`${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`, 'x'));
});

test('the error for a missing key names the key and the variable, not the value', (t) => {
  const sealed = createSecretBox([OLD]).seal('s3cret', 'x');
  t.throws(() => createSecretBox([NEW]).open(sealed, 'x'), { message: /"old".*SECRET_KEYS/ });
});

test('an empty key ring is refused', (t) => {
  t.throws(() => createSecretBox([]));
});

test('derived secrets are the same in every process, differ by purpose and key, current key first', (t) => {
  const [derived, ...others] = createSecretBox([NEW, OLD]).derive('webhook');
  t.regex(derived, /^[\w-]{43}$/);
  t.deepEqual(createSecretBox([NEW]).derive('webhook'), [derived]);
  t.deepEqual(others, createSecretBox([OLD]).derive('webhook'));
  t.not(others[0], derived);
  t.not(createSecretBox([NEW]).derive('webhook header')[0], derived);
});
