import { Router, type RequestHandler } from 'express';
import type { AuditAction } from '../core/accounts/audit-entry.ts';
import { methodNotAllowed } from './api-error.ts';
import { BASE_PATH, METHODS, type Description, type Operation, type OperationKey } from './description.ts';
import type { HandlerDependencies, Parts } from './handler.ts';
import { repeatAuthentication } from './middleware/authentication.ts';
import { refuseForeignPages } from './middleware/csrf.ts';
import { unknownRoute } from './middleware/error-response.ts';
import { jsonBody } from './middleware/json-body.ts';
import { escapeUndecodable, requirePath } from './middleware/request-form.ts';
import { admit } from './middleware/route-guard.ts';
import { validationOf } from './middleware/validation.ts';
import { addressOf, auditActorOf, contextOf } from './request-context.ts';
import { ROUTES } from './routes.ts';

/**
 * Makes the router of the described operations below `/v1`, for requests that are authenticated and counted. The steps
 * are in the order in which they refuse. Unknown paths (404) and methods (405 with `Allow`) pass through those before
 * the validation as well. `concurrency` limits an account's requests in progress; `authenticate` has identified the
 * caller.
 */
export function createRouter(
  description: Description,
  dependencies: HandlerDependencies,
  { concurrency, authenticate }: { concurrency: RequestHandler; authenticate: RequestHandler },
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const { publicUrl } = dependencies.config;
  const ownPage = refuseForeignPages(publicUrl);
  const callersOnly = admit({}, publicUrl);
  const body = jsonBody();
  const validate = validationOf(description);
  const authenticateAgain = repeatAuthentication(authenticate);
  router.use(escapeUndecodable);
  for (const [path, routes] of listPaths()) {
    const route = router.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    route.all(nameRoute(path));
    for (const { id, method, handler, records = null, isConcurrencyExempt = false } of routes) {
      const operation = getOperation(description, { id, path, method });
      route[method](
        admit(operation, publicUrl),
        ownPage,
        body,
        isConcurrencyExempt ? [] : concurrency,
        authenticateAgain,
        admit(operation, publicUrl),
        requirePath,
        validate({ path, method }),
        records === null ? [] : nameAuthor(records, dependencies),
        handler(dependencies),
      );
    }
    route.all(callersOnly, ownPage, body, concurrency, requirePath, otherMethod(routes));
  }
  router.use(callersOnly, ownPage, body, concurrency, unknownRoute);
  return router;
}

/** Names the route for the log and the metrics, of refused requests as well. */
function nameRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    contextOf(response).route = `${BASE_PATH}${path}`;
    next();
  };
}

/**
 * Names the author of a request's change, for its one entry in the audit log. A person who signs in is known only
 * afterwards, and the request's current session does not matter then.
 */
function nameAuthor(action: AuditAction, { makeId, now }: Parts<'makeId' | 'now'>): RequestHandler {
  return (_request, response, next) => {
    const context = contextOf(response);
    const { caller, isOpen } = context;
    const actor = caller === undefined || isOpen === true ? null : auditActorOf(caller);
    context.author = { id: makeId('aud'), action, actor, address: addressOf(response), nowMs: now() };
    next();
  };
}

/** A row of the table, without the types of its operation: the validation ensures them for all handlers alike. */
type NamedRoute = OperationKey & {
  id: string;
  handler: (dependencies: HandlerDependencies) => RequestHandler;
  records?: AuditAction | null;
  isConcurrencyExempt?: true;
};

/** Lists paths without parameters first: `/sessions/end-others` must not match `/sessions/{id}`. */
function listPaths(): [string, NamedRoute[]][] {
  const routes = Object.entries(ROUTES).map(([id, route]) => ({ ...route, id }) as NamedRoute);
  return [...Map.groupBy(routes, ({ path }) => path)].toSorted(
    ([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')),
  );
}

/**
 * Returns a route's operation. Throws if the description has another one in its place, or none: the route would have no
 * guard.
 */
function getOperation({ paths }: Description, { id, path, method }: OperationKey & { id: string }): Operation {
  const operation = paths[path]?.[method];
  if (operation?.operationId !== id) throw new Error(`${method} ${path} is not described as ${id}`);
  return operation;
}

function otherMethod(routes: readonly NamedRoute[]): RequestHandler {
  const known = new Set(routes.map(({ method }) => method));
  const allow = METHODS.filter((method) => known.has(method))
    .map((method) => method.toUpperCase())
    .join(', ');
  return (request) => {
    throw methodNotAllowed(request.method, allow);
  };
}
