import { listIdentities, unlinkIdentity, type Identity } from '../../../models/accounts/identities.ts';
import { NO_PASSWORD_HASH } from '../../../models/secrets/password.ts';
import { ApiError, conflict, notFound } from '../../api-error.ts';
import type { Handler, Parts } from '../../handler.ts';
import { authorOf, idOf, personOf } from '../../request-context.ts';
import type { components } from '../../schema.generated.ts';
import { codeProof, passwordProof, requireProofs, takeCode } from '../session/proofs.ts';
import { beginVisit } from './visit.ts';

/** `GET /user/identities`. */
export function listIdentitiesHandler({ database, openId }: Parts<'database' | 'openId'>): Handler<'listIdentities'> {
  return async (_request, response) => {
    const identities = await listIdentities(database, personOf(response).user.id);
    response.json({
      identities: identities.map((identity) => presentIdentity(identity, openId?.settings.issuer ?? null)),
    });
  };
}

/**
 * `POST /user/identities`: returns the URL where the browser links an identity. Requires the proofs of a password
 * sign-in: otherwise a stranger at an open browser could gain permanent access.
 */
export function startIdentityLinkHandler(
  dependencies: Parts<'database' | 'now' | 'config' | 'openId' | 'logger' | 'throttle'>,
): Handler<'startIdentityLink'> {
  return async (request, response) => {
    const { password, code } = request.body;
    const { user } = personOf(response);
    if (user.passwordHash === NO_PASSWORD_HASH)
      throw conflict('you have no password to prove who you are: ask an operator for one (spotcheck user reset)');
    if (user.totpConfirmedAt !== null && code === undefined)
      throw new ApiError(400, 'code is required, because two-factor authentication is on');
    await requireProofs(dependencies.throttle, { request, response }, [
      passwordProof(response, 'password', password),
      ...(user.totpConfirmedAt === null ? [] : [codeProof(() => takeCode(dependencies, user.id, code ?? ''))]),
    ]);
    const url = await beginVisit(
      dependencies,
      { request, response },
      { returnTo: '/settings/account', linkTo: user.id },
    );
    response.json({ url });
  };
}

/** `DELETE /user/identities/{id}`. */
export function unlinkIdentityHandler({ database, openId }: Parts<'database' | 'openId'>): Handler<'unlinkIdentity'> {
  return async (request, response) => {
    const { user, sessionId } = personOf(response);
    const id = idOf(request);
    if (user.passwordHash === NO_PASSWORD_HASH || openId?.settings.isOnly === true)
      throw conflict(
        user.passwordHash === NO_PASSWORD_HASH
          ? 'you have no password, and could no longer sign in: ask an operator for one first (spotcheck user reset)'
          : 'passwords are not accepted here, and you could no longer sign in',
      );
    const ended = await unlinkIdentity(database, {
      author: authorOf(response),
      userId: user.id,
      id,
      keepSessionId: sessionId,
    });
    if (ended === null) throw notFound('identity', id);
    response.json({ ended_sessions: ended });
  };
}

/** `currentIssuer` is that of the installation's provider; null if there is none. */
function presentIdentity(
  { id, issuer, email, createdAt, lastSignedInAt }: Identity,
  currentIssuer: string | null,
): components['schemas']['Identity'] {
  const isCurrent = currentIssuer !== null && URL.parse(issuer)?.href === URL.parse(currentIssuer)?.href;
  return { id, issuer, is_current: isCurrent, email, created_at: createdAt, last_signed_in_at: lastSignedInAt };
}
