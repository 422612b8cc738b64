import test from 'ava';
import { hashPassword, PasswordsBusy, verifyPassword } from '../../../models/secrets/password.ts';
import { runCommand } from '../../helpers/command.ts';

test('one password is hashed at a time and 64 wait; more are refused at once, and later ones work again', async (t) => {
  const stored = await hashPassword('right');
  const refusals: unknown[] = [];
  const outcomes = await Promise.all(
    Array.from(
      { length: 100 },
      async (_, index) =>
        await verifyPassword(index % 2 === 0 ? 'right' : 'wrong', index % 3 === 0 ? null : stored).catch(
          (error: unknown) => void refusals.push(error),
        ),
    ),
  );
  t.is(refusals.length, 35);
  t.true(refusals.every((error) => error instanceof PasswordsBusy));
  t.deepEqual(
    outcomes.slice(0, 65),
    Array.from({ length: 65 }, (_, index) => index % 2 === 0 && index % 3 !== 0),
  );
  t.true(await verifyPassword('right', stored));
});

const GUESSES = `
  import { verifyPassword } from './models/secrets/password.ts';
  const rss = () => process.memoryUsage.rss() / 1048576;
  await verifyPassword('first', null);
  const before = rss();
  let peak = before;
  for (let round = 0; round < 2; round += 1) {
    const guess = async () => { await verifyPassword('wrong', null); peak = Math.max(peak, rss()); };
    await Promise.all(Array.from({ length: 50 }, guess));
  }
  console.log(JSON.stringify({ before, peak }));
`;

test('a hundred guesses take no more memory than a few', async (t) => {
  const command = [process.execPath, '--input-type=module', '--eval', GUESSES];
  const { status, stdout, stderr } = await runCommand(command, { UV_THREADPOOL_SIZE: '64' });
  t.is(status, 0, stderr);
  const { before, peak } = JSON.parse(stdout) as { before: number; peak: number };
  // In a thread pool each thread would keep 19 MiB.
  t.true(peak - before < 60, `${before} MB, then ${peak} MB`);
});
