import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { resetAccess, findUserByEmail, setOperator } from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { print, Refusal } from '../output.ts';
import type { WithDatabase } from '../with-database.ts';

/** Adds `user reset` and `user operator`. */
export function addUserCommands(program: Command, withDatabase: WithDatabase): void {
  const user = program.command('user').description('people who sign in to the console');
  user
    .command('reset')
    .description('give a user a new password, shown once; their second factor goes and their sessions end')
    .requiredOption('--email <address>', 'whose')
    .option('--json', 'print JSON')
    .action(async (options: { email: string; json?: boolean }) => {
      print(await resetUser(options.email.trim(), withDatabase), options);
    });
  user
    .command('operator')
    .description('let a user see the fleet page and the queue board, whatever their role')
    .requiredOption('--email <address>', 'whom')
    .option('--revoke', 'no longer')
    .option('--json', 'print JSON')
    .action(async (options: { email: string; revoke?: boolean; json?: boolean }) => {
      print(await changeOperator(options.email.trim(), options.revoke !== true, withDatabase), options);
    });
}

async function resetUser(email: string, withDatabase: WithDatabase): Promise<Record<string, unknown>> {
  return await withDatabase(async ({ database, author }) => {
    const user = await findUserByEmail(database, email);
    if (user === null) throw unknownUser(email);
    const password = randomBytes(12).toString('base64url');
    const reset = await resetAccess(database, {
      userId: user.id,
      passwordHash: await hashPassword(password),
      author: author('member.reset'),
    });
    if (reset === null) throw unknownUser(email);
    return {
      id: user.id,
      email: user.email,
      password,
      second_factor_removed: reset.secondFactorRemoved,
      ended_sessions: reset.endedSessions,
    };
  });
}

async function changeOperator(
  email: string,
  isOperator: boolean,
  withDatabase: WithDatabase,
): Promise<Record<string, unknown>> {
  return await withDatabase(async ({ database, author }) => {
    const user = await findUserByEmail(database, email);
    const changed =
      user && (await setOperator(database, { id: user.id, isOperator, author: author('member.changed') }));
    if (changed === null) throw unknownUser(email);
    return { id: changed.id, email: changed.email, operator: changed.isOperator };
  });
}

function unknownUser(email: string): Refusal {
  return new Refusal(`There is no console user with the address ${JSON.stringify(email)}`);
}
