import { createHash } from 'node:crypto';
import { countRecoveryCodes } from '../../models/accounts/second-factor.ts';
import type { User } from '../../models/accounts/user-row.ts';
import { findUserByEmail, normalizeEmail } from '../../models/accounts/users.ts';
import { verifyPassword } from '../../models/secrets/password.ts';
import { ApiError, CodeRequired } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { authorOf } from '../request-context.ts';
import { presentSignedIn } from './session-presenter.ts';
import { beginSession } from './session/beginning.ts';
import { takeCode } from './session/proofs.ts';

/** `POST /session`. Who has gone meanwhile, or has another password by then, is answered as who never was. */
export function signInHandler(
  dependencies: Parts<'database' | 'now' | 'makeId' | 'config' | 'throttle'>,
): Handler<'signIn'> {
  const { database, throttle } = dependencies;
  return async (request, response) => {
    const { email, password, code } = request.body;
    const user = await findUserByEmail(database, email);
    // An address without an account is counted like one that has one, or the count would tell them apart.
    const attempt = await throttle.begin(user?.id ?? digestOf(email), { request, response });
    if (!(await attempt.verify(() => verifyPassword(password, user?.passwordHash ?? null))) || user === null)
      throw wrong();
    if (user.totpConfirmedAt !== null && code === undefined) {
      // The password was right: it is no failure, but neither does it make good for wrong codes.
      await attempt.excuse();
      throw new CodeRequired();
    }
    if (user.totpConfirmedAt !== null && !(await attempt.verify(() => takeCode(dependencies, user.id, code ?? ''))))
      throw new ApiError(401, 'the code of the second factor is wrong, or was used already');
    await attempt.succeed();

    const caller = await beginSession(dependencies, { request, response }, { user, author: authorOf(response) });
    if (caller === null) throw wrong();
    response.status(201).json(presentSignedIn(caller, await recoveryCodesOf(dependencies, user), dependencies.config));
  };
}

/** How many recovery codes are left; none is asked for where there is no second factor. */
export async function recoveryCodesOf({ database }: Parts<'database'>, user: User): Promise<number> {
  return user.totpConfirmedAt === null ? 0 : await countRecoveryCodes(database, user.id);
}

/** Stands for an address that no user has, which may be any text. */
function digestOf(email: string): string {
  return createHash('sha256').update(normalizeEmail(email)).digest('base64url');
}

/** Which of the two it was is shown to nobody. */
function wrong(): ApiError {
  return new ApiError(401, 'the e-mail address or the password is wrong');
}
