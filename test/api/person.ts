import { csrfTokenOf } from '../../api/middleware/csrf.ts';
import type { Role } from '../../core/accounts/roles.ts';
import { createSession, generateSessionSecret } from '../../models/accounts/sessions.ts';
import type { User } from '../../models/accounts/user-row.ts';
import { createUser } from '../../models/accounts/users.ts';
import { SESSION_COOKIE } from '../helpers/nginx.ts';
import { send, type Answer, type ApiServer, type Call } from './api-server.ts';

/** The API parts that creating users needs. */
type PersonServer = Pick<ApiServer, 'database' | 'makeId' | 'url'>;

/** A user of an account. `headers` are those of their session. */
export type Person = {
  user: User;
  email: string;
  password: string;
  call: Call;
  headers: Record<string, string>;
  sessionId: string;
};

export const PASSWORD = 'a-good-long-password';

/** The `hashPassword` result for PASSWORD, which all users share because Argon2id is slow by design. */
const passwordHash = 'argon2id$19456$2$YTgI7F7HitWRB-ItOAX0Ug$r2yGc0nYYURLGt8kx1PZfUZR-2Ou8fA_araWNOSb4eI';

export type PersonOptions = { role?: Role; mark?: string; isOperator?: boolean };

/** Creates a signed-in user of an account; `mark` appears in all of their texts. */
export async function addPerson(
  api: PersonServer,
  tenantId: string,
  { role = 'owner', mark = 'person', isOperator = false }: PersonOptions = {},
): Promise<Person> {
  const id = api.makeId('usr');
  const email = `${mark}-${id}@example.org`;
  const user = await createUser(api.database, {
    id,
    tenantId,
    email,
    name: mark,
    role,
    passwordHash,
    isOperator,
    nowMs: Date.now(),
    author: null,
  });
  if (user === null) throw new Error(`${email} is taken`);
  const { headers, sessionId } = await addSession(api, user, mark);
  return { user, email, password: PASSWORD, headers, sessionId, call: callWith(api, headers) };
}

/** Signs a user in without a password; returns the headers that a console page sends. */
export async function addSession(
  { database, makeId }: Pick<ApiServer, 'database' | 'makeId'>,
  user: User,
  mark = 'browser',
): Promise<{ sessionId: string; headers: Record<string, string> }> {
  const [sessionId, secret] = [makeId('ses'), generateSessionSecret()];
  const isCreated = await createSession(database, {
    id: sessionId,
    secret,
    user,
    address: '127.0.0.1',
    userAgent: mark,
    nowMs: Date.now(),
    author: null,
  });
  if (!isCreated) throw new Error(`${user.email} could not sign in`);
  return { sessionId, headers: { Cookie: `${SESSION_COOKIE}=${secret}`, 'X-CSRF-Token': csrfTokenOf(secret) } };
}

/** Returns a call that adds the given headers. */
export function callWith(api: Pick<ApiServer, 'url'>, own: Record<string, string>): Call {
  // oxlint-disable-next-line max-params -- a call reads like the request that it sends
  return (method, path, body, headers, base = api.url) =>
    send(`${base}${path}`, { method, body, headers: { ...own, ...headers } });
}

/** Returns the cookie that a response set, as a browser sends it back; null if it set none. */
export function cookieOf(answer: Answer): string | null {
  return answer.headers.get('set-cookie')?.split(';')[0] ?? null;
}
