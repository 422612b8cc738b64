import { csrfTokenOf } from '../../api/middleware/csrf.ts';
import type { Role } from '../../core/accounts/roles.ts';
import { createSession, generateSessionSecret } from '../../models/accounts/sessions.ts';
import type { User } from '../../models/accounts/user-row.ts';
import { createUser } from '../../models/accounts/users.ts';
import { SESSION_COOKIE } from '../helpers/nginx.ts';
import { send, type Answer, type ApiServer, type Call } from './api-server.ts';

/** Where people are made. */
type PersonServer = Pick<ApiServer, 'database' | 'makeId' | 'url'>;

/** A person of an account. `headers` are those of their session. */
export type Person = {
  user: User;
  email: string;
  password: string;
  call: Call;
  headers: Record<string, string>;
  sessionId: string;
};

export const PASSWORD = 'a-good-long-password';

/** What `hashPassword` made of it: everybody here has the same password, and Argon2id is costly by design. */
const passwordHash = 'argon2id$19456$2$YTgI7F7HitWRB-ItOAX0Ug$r2yGc0nYYURLGt8kx1PZfUZR-2Ou8fA_araWNOSb4eI';

export type PersonOptions = { role?: Role; mark?: string; isOperator?: boolean };

/** Makes a person of an account, signed in; `mark` stands in every text of theirs. */
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

/** Signs a person in without asking for the password; the headers that a page of the console sends. */
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

/** Calls with headers of one's own. */
export function callWith(api: Pick<ApiServer, 'url'>, own: Record<string, string>): Call {
  // oxlint-disable-next-line max-params -- a call reads like the request that it sends
  return (method, path, body, headers, base = api.url) =>
    send(`${base}${path}`, { method, body, headers: { ...own, ...headers } });
}

/** The cookie that an answer set, as a browser sends it back; null where it set none. */
export function cookieOf(answer: Answer): string | null {
  return answer.headers.get('set-cookie')?.split(';')[0] ?? null;
}
