import type { Request } from 'express';
import { cleanText } from '../../../core/foreign-text.ts';
import type { Authored } from '../../../models/accounts/audit-log.ts';
import { createSession, endSessionOf, generateSessionSecret } from '../../../models/accounts/sessions.ts';
import type { User } from '../../../models/accounts/user-row.ts';
import type { SessionCaller } from '../../caller.ts';
import type { Parts } from '../../dependencies.ts';
import { callerOfSession } from '../../middleware/authentication.ts';
import { addressOf, type Exchange } from '../../request-context.ts';
import { recordClients } from './clients.ts';
import { sessionCookie } from './cookie.ts';

const USER_AGENT_LENGTH = 255;

/**
 * Begins a session of a user whose password and code were checked, and ends the one that the request came with. Sets
 * the cookie of the new session, and one by which the browser is recognized later. Null, and no cookie is set, where
 * the user was removed meanwhile or has another password or second factor.
 */
export async function beginSession(
  { database, now, makeId, config }: Parts<'database' | 'now' | 'makeId' | 'config'>,
  { request, response }: Exchange,
  { user, author }: { user: User } & Authored,
): Promise<SessionCaller | null> {
  const secret = generateSessionSecret();
  const isCreated = await createSession(database, {
    id: makeId('ses'),
    secret,
    user,
    address: addressOf(response),
    userAgent: userAgentOf(request),
    nowMs: now(),
    author,
  });
  const caller = isCreated ? await callerOfSession({ database, now }, secret) : null;
  if (caller === null) return null;
  const cookie = sessionCookie(config.publicUrl);
  const previous = cookie.read(request);
  if (previous !== null) await endSessionOf(database, previous);
  cookie.give(response, secret);
  await recordClients({ database, now, publicUrl: config.publicUrl }, { request, response }, user.id);
  response.setHeader('Cache-Control', 'no-store');
  return caller;
}

function userAgentOf(request: Request): string | null {
  const userAgent = request.headers['user-agent'];
  return userAgent === undefined ? null : cleanText(userAgent, USER_AGENT_LENGTH);
}
