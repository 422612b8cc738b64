import test from 'ava';
import { hashPassword, PasswordsBusy, verifyPassword } from '../../models/password.ts';

test('however many passwords are to be hashed at once, two are and 64 wait; the others are refused at once, and later ones are served again', async (t) => {
  const stored = await hashPassword('right');
  const refusals: unknown[] = [];
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => await verifyPassword(index % 2 === 0 ? 'right' : 'wrong', index % 3 === 0 ? null : stored).catch((error: unknown) => void refusals.push(error))),
  );
  t.is(refusals.length, 34);
  t.true(refusals.every((error) => error instanceof PasswordsBusy));
  t.deepEqual(outcomes.slice(0, 66), Array.from({ length: 66 }, (_, index) => index % 2 === 0 && index % 3 !== 0));
  t.true(await verifyPassword('right', stored));
});
