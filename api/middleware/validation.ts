import type { Request, RequestHandler } from 'express';
// Not by its entry, which also loads what checks documents, and compiles the schema of all OpenAPI documents at each
// start to hold ours against it.
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js';
import { ApiError, badRequest, methodNotAllowed } from '../api-error.ts';
import { BASE_PATH, bodySchema, isBodyRequired, requestPart, type Description } from '../description.ts';
import { contextOf } from '../request-context.ts';
import { explainRefusal } from '../validation-message.ts';
import { createPathFinder, listDescribedRoutes } from './described-routes.ts';

/** What the validator goes by: the operation, as it has rewritten it, and where it was found. */
type Found = {
  expressRoute: string;
  openApiRoute: string;
  pathParams: Record<string, string>;
  schema: object;
  serial: number;
};

/** Where the validator expects that. */
type FoundRequest = Request & { openapi?: Found };

/** Tells documents apart that one process validates; ours is the only one. */
const SERIAL = 1;

/**
 * Holds requests against the description. Unknown paths are 404, unknown methods 405 with `Allow`. An operation's
 * schemas are compiled for its first request, within some milliseconds; that all of them do compile, and that the
 * document is one of OpenAPI, is for the tests to show.
 */
export function validation(description: Description): RequestHandler[] {
  const requests = requestPart(description);
  // The package has its own type for the document, which the parsed YAML cannot prove to have.
  const apiDoc = requests as never;
  const validator = new OpenApiValidator({
    apiSpec: apiDoc,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
    // Operations are found by us, before it.
    ignorePaths: () => true,
  });
  const document = { apiDoc, basePaths: [`${BASE_PATH}/`], routes: listDescribedRoutes(requests), serial: SERIAL };
  const steps = validator
    .installMiddleware(Promise.resolve(document))
    .map((step): RequestHandler => (request, response, next) => {
      step(request, response, (refusal?: unknown) =>
        next(
          refusal === undefined ? undefined : explainRefusal(refusal, { description, path: pathOf(request), request }),
        ),
      );
    });
  return [findOperation(requests), ...steps, checkBody(description)];
}

/**
 * Finds the operation that is asked for; `requests` is read anew each time, because the validator rewrites its
 * operations.
 */
function findOperation(requests: Description): RequestHandler {
  const findPath = createPathFinder(requests);
  return (request: FoundRequest, response, next) => {
    if (!request.path.startsWith(`${BASE_PATH}/`)) {
      next();
      return;
    }
    const found = findPath(request.originalUrl.split('?', 1)[0] ?? '');
    if (found === null) throw new ApiError(404, 'there is nothing at this path');
    const { expressRoute, openApiRoute, pathParams, methods } = found;
    const method = methods.find((known) => known === request.method.toLowerCase());
    const schema = method && requests.paths[openApiRoute.slice(BASE_PATH.length)]?.[method];
    if (schema === undefined)
      throw methodNotAllowed(request.method, methods.map((known) => known.toUpperCase()).join(', '));
    request.openapi = { expressRoute, openApiRoute, pathParams, schema, serial: SERIAL };
    request.params = pathParams;
    contextOf(response).route = openApiRoute;
    next();
  };
}

/**
 * The validator misses an absent body where no field of the body is required, and any body where none is described
 * (D-06).
 */
function checkBody(description: Description): RequestHandler {
  return (request, _response, next) => {
    const takesBody = bodySchema(description, pathOf(request), request.method) !== undefined;
    if (request.body === undefined && isBodyRequired(description, pathOf(request), request.method))
      throw badRequest('the body is required');
    if (!takesBody && routeOf(request) !== undefined && !isEmpty(request.body))
      throw badRequest(`${request.method} ${request.path} takes no fields: send it without a body`);
    next();
  };
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || (typeof body === 'object' && Object.keys(body).length === 0);
}

/** The path of the request as the description writes it, with `/v1`; undefined where it is none of ours. */
function routeOf(request: FoundRequest): string | undefined {
  return request.openapi?.openApiRoute;
}

/** The same without `/v1`: the key into the description. */
function pathOf(request: Request): string {
  return (routeOf(request) ?? '').slice(BASE_PATH.length);
}
