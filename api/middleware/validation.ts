import type { Request, RequestHandler } from 'express';
// Not by its entry, which also loads what checks documents, and compiles the schema of all OpenAPI documents at each
// start to hold ours against it.
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js';
import { badRequest } from '../api-error.ts';
import {
  BASE_PATH,
  bodySchema,
  isBodyRequired,
  requestPart,
  type Description,
  type OperationKey,
} from '../description.ts';
import { explainRefusal } from '../validation-message.ts';
import { writtenPath } from './request-form.ts';

/** Where the validator expects the operation that a request is held against. */
type ValidatedRequest = Request & {
  openapi?: {
    expressRoute: string;
    openApiRoute: string;
    pathParams: Record<string, string>;
    schema: object;
    serial: number;
  };
};

/** Tells documents apart that one process validates; ours is the only one. */
const SERIAL = 1;

/** Makes the steps that hold a request of an operation against the description. */
export type Validation = (operation: OperationKey) => RequestHandler[];

/**
 * Makes the validation of shape. An operation's schemas are compiled for its first request, within some milliseconds;
 * that all of them do compile, and that the document is one of OpenAPI, is for the tests to show.
 */
export function createValidation(description: Description): Validation {
  const requests = requestPart(description);
  // The package has its own type for the document, which the parsed YAML cannot prove to have.
  const apiDoc = requests as never;
  const validator = new OpenApiValidator({
    apiSpec: apiDoc,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
    // The router finds operations.
    ignorePaths: () => true,
  });
  const document = { apiDoc, basePaths: [`${BASE_PATH}/`], routes: [], serial: SERIAL };
  const steps = validator.installMiddleware(Promise.resolve(document));
  return (operation) => [
    nameOperation(requests, operation),
    ...steps.map((step): RequestHandler => (request, response, next) => {
      step(request, response, (refusal?: unknown) =>
        next(refusal === undefined ? undefined : explainRefusal(refusal, { ...operation, description, request })),
      );
    }),
    checkBody(description, operation),
  ];
}

/** Hands the validator the operation, which it has rewritten by the time of the first request. */
function nameOperation(requests: Description, { path, method }: OperationKey): RequestHandler {
  const openApiRoute = `${BASE_PATH}${path}`;
  return (request: ValidatedRequest, _response, next) => {
    const schema = requests.paths[path]?.[method];
    if (schema === undefined) throw new Error(`${method} ${path} is not described`);
    const pathParams = request.params as Record<string, string>;
    request.openapi = { expressRoute: openApiRoute, openApiRoute, pathParams, schema, serial: SERIAL };
    next();
  };
}

/**
 * The validator misses an absent body where no field of the body is required, and any body where none is described
 * (D-06).
 */
function checkBody(description: Description, operation: OperationKey): RequestHandler {
  const takesBody = bodySchema(description, operation) !== undefined;
  const needsBody = isBodyRequired(description, operation);
  return (request, _response, next) => {
    if (request.body === undefined && needsBody) throw badRequest('the body is required');
    if (!takesBody && !isEmpty(request.body))
      throw badRequest(`${request.method} ${writtenPath(request)} takes no fields: send it without a body`);
    next();
  };
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || (typeof body === 'object' && Object.keys(body).length === 0);
}
