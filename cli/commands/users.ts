import { randomBytes } from 'node:crypto';
import { resetAccess, findUserByEmail, setOperator } from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { print, Refusal } from '../output.ts';
import { withDatabase } from '../with-database.ts';

/** `user reset`: a new password for who lost access. */
export async function resetUser(options: { email: string; json?: boolean }): Promise<void> {
  const email = options.email.trim();
  const access = await withDatabase(async ({ database, author }) => {
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
  print(access, options);
}

/** `user operator`: makes a user an operator of the installation, or no longer. */
export async function changeOperator(options: { email: string; revoke?: boolean; json?: boolean }): Promise<void> {
  const email = options.email.trim();
  const isOperator = options.revoke !== true;
  const operator = await withDatabase(async ({ database, author }) => {
    const user = await findUserByEmail(database, email);
    const changed =
      user && (await setOperator(database, { id: user.id, isOperator, author: author('member.changed') }));
    if (changed === null) throw unknownUser(email);
    return { id: changed.id, email: changed.email, operator: changed.isOperator };
  });
  print(operator, options);
}

function unknownUser(email: string): Refusal {
  return new Refusal(`No console user with the email address ${JSON.stringify(email)} was found`);
}
