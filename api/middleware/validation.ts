import type { Request, RequestHandler, Response } from 'express';
// Not by its entry, which also loads what checks documents, and compiles the schema of all OpenAPI documents at each start to hold ours against it.
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js';
import { badRequest } from '../api-error.ts';
import { BASE_PATH, bodySchema, isBodyRequired, requestPart } from '../description.ts';
import type { Description } from '../description.ts';
import { contextOf } from '../request-context.ts';
import { explainRefusal } from '../validator-refusal.ts';
import { listDescribedRoutes } from './described-routes.ts';

/**
 * Holds requests against the description. Unknown paths are 404, unknown methods 405 with `Allow`. An operation's schemas are compiled for
 * its first request, within some milliseconds; that all of them do compile, and that the document is one of OpenAPI, is for the tests to show.
 */
export function validation(description: Description): RequestHandler[] {
  // The package has its own type for the document, which the parsed YAML cannot prove to have.
  const apiDoc = requestPart(description) as never;
  const validator = new OpenApiValidator({
    apiSpec: apiDoc,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
    ignorePaths: (path: string) => !path.startsWith(`${BASE_PATH}/`),
  });
  const document = { apiDoc, basePaths: [`${BASE_PATH}/`], routes: listDescribedRoutes(apiDoc), serial: 1 };
  const steps = validator.installMiddleware(Promise.resolve(document)).map((step): RequestHandler => (request, response, next) => {
    step(request, response, (refusal?: unknown) => {
      noteRoute(request, response);
      next(refusal === undefined ? undefined : explainRefusal(refusal, { description, path: pathOf(request), request }));
    });
  });
  return [...steps, holdBody(description)];
}

/** The validator misses an absent body where no field of the body is required, and any body where none is described (D-06). */
function holdBody(description: Description): RequestHandler {
  return (request, _response, next) => {
    const takesBody = bodySchema(description, pathOf(request), request.method) !== undefined;
    if (request.body === undefined && isBodyRequired(description, pathOf(request), request.method)) throw badRequest('the body is required');
    if (!takesBody && routeOf(request) !== undefined && !isEmpty(request.body)) throw badRequest(`${request.method} ${request.path} takes no fields: send it without a body`);
    next();
  };
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || (typeof body === 'object' && Object.keys(body).length === 0);
}

function noteRoute(request: Request, response: Response): void {
  const route = routeOf(request);
  if (route !== undefined) contextOf(response).route = route;
}

/** The path of the request as the description writes it, with `/v1`; undefined before the validator has found it. */
function routeOf(request: Request): string | undefined {
  return (request as Request & { openapi?: { openApiRoute?: string } }).openapi?.openApiRoute;
}

/** The same without `/v1`: the key into the description. */
function pathOf(request: Request): string {
  return (routeOf(request) ?? '').slice(BASE_PATH.length);
}
