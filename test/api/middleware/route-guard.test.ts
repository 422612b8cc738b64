import test from 'ava';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../../../api/api-error.ts';
import type { Caller } from '../../../api/caller.ts';
import type { Description } from '../../../api/description.ts';
import { guardRoutes, onlyAs } from '../../../api/middleware/route-guard.ts';
import { ROLE_SCOPES, ROLES, type Role } from '../../../core/accounts/roles.ts';

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
    passwordHash: '',
    isOperator: false,
    totpConfirmedAt: null,
    passwordChangedAt: null,
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

const DESCRIPTION = {
  openapi: '3.1.0',
  servers: [{ url: '/v1' }],
  paths: {
    '/things/{id}': {
      get: { operationId: 'getThing' },
      delete: { operationId: 'deleteThing', 'x-role': 'owner' },
      patch: { operationId: 'updateThing' },
    },
    '/things/all': {
      get: { operationId: 'listMine', 'x-caller': 'session' },
      post: { operationId: 'edit', 'x-caller': 'session', 'x-role': 'editor' },
    },
    '/open': { post: { operationId: 'open', security: [] } },
    '/elsewhere': { servers: [{ url: '/' }], get: { operationId: 'elsewhere', security: [] } },
  },
  components: { schemas: {}, parameters: {} },
} satisfies Description;

const admit = guardRoutes(DESCRIPTION);

/** The status that a request is refused with; else the operation that it is admitted to, or `nobody's`. */
function ask(
  handler: RequestHandler,
  { method, path, caller }: { method: string; path: string; caller: Caller | null },
): number | string {
  const locals: { caller?: Caller; operationId?: string } = caller === null ? {} : { caller };
  try {
    void handler({ method, path, headers: {} } as Request, { locals } as unknown as Response, () => undefined);
    return locals.operationId ?? "nobody's";
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

const TABLE: readonly [method: string, path: string, ...answers: (number | string)[]][] = [
  ['GET', '/things/1', 401, 'getThing', 'getThing', 'getThing', 'getThing'],
  ['PATCH', '/things/1', 401, 'updateThing', 403, 'updateThing', 'updateThing'],
  ['DELETE', '/things/1', 401, 403, 403, 403, 'deleteThing'],
  ['GET', '/things/all', 401, 403, 'listMine', 'listMine', 'listMine'],
  ['POST', '/things/all', 401, 403, 403, 'edit', 'edit'],
  // What another path's route guard would admit.
  ['DELETE', '/things/all', 401, "nobody's", 403, "nobody's", "nobody's"],
  ['POST', '/open', 'open', 'open', 'open', 'open', 'open'],
  ['GET', '/open', 401, "nobody's", "nobody's", "nobody's", "nobody's"],
  ['GET', '/elsewhere', 401, "nobody's", "nobody's", "nobody's", "nobody's"],
  ['GET', '/things/1/2', 401, "nobody's", "nobody's", "nobody's", "nobody's"],
];
for (const [method, path, ...answers] of TABLE) {
  test(`${method} ${path} is for ${
    Object.keys(CALLERS)
      .filter((_, index) => typeof answers[index] === 'string')
      .join(', ') || 'no one'
  }`, (t) => {
    t.deepEqual(
      Object.values(CALLERS).map((caller) => ask(admit, { method, path, caller })),
      answers,
    );
  });
}

test('a request that was admitted to one operation does not reach another one, however the path was read', (t) => {
  t.is(ask(onlyAs('getThing'), { method: 'GET', path: '/things/1', caller: TOKEN }), 404);
});

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
