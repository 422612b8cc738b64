import test from 'ava';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../../../api/api-error.ts';
import { admit } from '../../../api/middleware/route-guard.ts';
import type { Caller } from '../../../api/request-context.ts';
import { ROLES, ROLE_SCOPES, type Role } from '../../../core/accounts/roles.ts';

const tenant = { id: 'ten_1', name: 'acme', plan: 'pro', createdAt: 1 } as const;
const TOKEN: Caller = {
  kind: 'token',
  tokenId: 'tok_1',
  tenantId: 'ten_1',
  plan: 'pro',
  scopes: ['read', 'write'],
  actor: { kind: 'token', id: 'tok_1', name: 'ci' },
};

function person(role: Role): Caller {
  const user = {
    id: 'usr_1',
    tenantId: 'ten_1',
    email: 'a@example.org',
    name: '',
    role,
    theme: 'system',
    timeZone: 'browser',
    clock: 'browser',
    passwordHash: '',
    isOperator: false,
    totpConfirmedAt: null,
    passwordChangedAt: null,
    passwordSignInUntil: null,
    lastSignedInAt: null,
    createdAt: 1,
  } as const;
  return {
    kind: 'session',
    sessionId: 'ses_1',
    secret: 'x',
    user,
    tenant,
    tenantId: 'ten_1',
    plan: 'pro',
    scopes: ROLE_SCOPES[role],
    actor: { kind: 'user', id: 'usr_1', name: 'a@example.org' },
  };
}

/** Returns the status with which a request is refused; otherwise whether it is open or admitted. */
function ask(handler: RequestHandler, { method, caller }: { method: string; caller: Caller | null }): number | string {
  const locals: { caller?: Caller; isOpen?: boolean } = caller === null ? {} : { caller };
  try {
    void handler({ method, headers: {} } as Request, { locals } as unknown as Response, () => undefined);
    return locals.isOpen === true ? 'open' : 'admitted';
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
}

const CALLERS = {
  nobody: null,
  token: TOKEN,
  viewer: person('viewer'),
  editor: person('editor'),
  owner: person('owner'),
};

type Answers = (number | string)[];

const TABLE: readonly [what: string, operation: Parameters<typeof admit>[0], method: string, ...answers: Answers][] = [
  ['a read', {}, 'GET', 401, 'admitted', 'admitted', 'admitted', 'admitted'],
  ['a change', {}, 'PATCH', 401, 'admitted', 403, 'admitted', 'admitted'],
  ['an operation for owners', { 'x-role': 'owner' }, 'DELETE', 401, 403, 403, 403, 'admitted'],
  ['a read for sessions', { 'x-caller': 'session' }, 'GET', 401, 403, 'admitted', 'admitted', 'admitted'],
  [
    'an operation for editors',
    { 'x-caller': 'session', 'x-role': 'editor' },
    'POST',
    401,
    403,
    403,
    'admitted',
    'admitted',
  ],
  ['an operation for operators', { 'x-operator': true }, 'POST', 401, 403, 403, 403, 403],
  ['a public operation', { security: [] }, 'POST', 'open', 'open', 'open', 'open', 'open'],
];
for (const [what, operation, method, ...answers] of TABLE) {
  test(`${what} (${method}) admits ${
    Object.keys(CALLERS)
      .filter((_, index) => typeof answers[index] === 'string')
      .join(', ') || 'no one'
  }`, (t) => {
    t.deepEqual(
      Object.values(CALLERS).map((caller) => ask(admit(operation, 'https://a.example'), { method, caller })),
      answers,
    );
  });
}

test('a role has all the scopes of the one below it, and only an owner manages the account', (t) => {
  t.deepEqual(
    ROLES.map((role) => ROLE_SCOPES[role].length),
    [1, 2, 3],
  );
  t.deepEqual(
    ROLES.filter((role) => (ROLE_SCOPES[role] as readonly string[]).includes('manage')),
    ['owner'],
  );
});
