import type { Request, RequestHandler, Response } from 'express';
import { middleware as createValidator } from 'express-openapi-validator';
import { badRequest } from '../api-error.ts';
import { BASE_PATH, bodySchema, isBodyRequired, requestPart } from '../description.ts';
import type { Description } from '../description.ts';
import { contextOf } from '../request-context.ts';
import { explainRefusal } from '../validator-refusal.ts';

/** Holds requests against the description. Unknown paths are 404, unknown methods 405 with `Allow`. */
export function validation(description: Description): RequestHandler[] {
  const validator = createValidator({
    // The package has its own type for the document, which the parsed YAML cannot prove to have.
    apiSpec: requestPart(description) as never,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
    ignorePaths: (path: string) => !path.startsWith(`${BASE_PATH}/`),
  });
  const steps = validator.map((step): RequestHandler => (request, response, next) => {
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
