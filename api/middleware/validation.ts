import type { Request, RequestHandler } from 'express';
import { AjvOptions } from 'express-openapi-validator/dist/framework/ajv/options.js';
// The package's entry would also load the validation of documents and responses, and pass every request through its own
// middleware.
import { RequestValidator } from 'express-openapi-validator/dist/middlewares/openapi.request.validator.js';
import { badRequest } from '../api-error.ts';
import {
  BASE_PATH,
  bodySchema,
  isBodyRequired,
  requestPart,
  type Description,
  type Operation,
  type OperationKey,
} from '../description.ts';
import { explainRefusal } from '../validation-message.ts';
import { writtenPath } from './request-form.ts';

/** A request with the property from which the validator reads its operation. */
type ValidatedRequest = Request & {
  openapi?: {
    expressRoute: string;
    openApiRoute: string;
    pathParams: Record<string, string>;
    schema: Operation;
    serial: number;
  };
};

/** Identifies the document among those that a process validates; here there is only one. */
const SERIAL = 1;

/** Reports all problems of a request at once; formats are those of JSON schemas, and strings are not converted. */
const OPTIONS = new AjvOptions({
  validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
  validateFormats: true,
  ajvFormats: { mode: 'fast' },
  formats: {},
  serDes: [],
} as never);

/** Makes the middleware that validates an operation's requests against the description. */
export type Validation = (operation: OperationKey) => RequestHandler[];

/** Cache shared by all applications of the process. */
const validations = new WeakMap<Description, Validation>();

/**
 * Returns the validation of request shapes. An operation's schemas are compiled at its first request, within some
 * milliseconds; tests verify that all of them compile, and that the document is valid OpenAPI.
 */
export function validationOf(description: Description): Validation {
  const validation = validations.get(description) ?? createValidation(description);
  validations.set(description, validation);
  return validation;
}

function createValidation(description: Description): Validation {
  // Operations are passed one by one with references resolved: a document with paths would be read again for each.
  const document = { openapi: description.openapi, paths: {}, components: {} };
  const validator = new RequestValidator(document as never, OPTIONS.request);
  return (operation) => [validateRequest(validator, { ...operation, description }), checkBody(description, operation)];
}

/** Validates a request against its description. */
function validateRequest(
  validator: RequestValidator,
  operation: OperationKey & { description: Description },
): RequestHandler {
  const openApiRoute = `${BASE_PATH}${operation.path}`;
  let schema: Operation | undefined;
  return (request: ValidatedRequest, response, next) => {
    schema ??= requestPart(operation.description, operation);
    const pathParams = request.params as Record<string, string>;
    request.openapi = { expressRoute: openApiRoute, openApiRoute, pathParams, schema, serial: SERIAL };
    try {
      void validator.validate(request as never, response, next);
    } catch (refusal) {
      throw explainRefusal(refusal, { ...operation, request });
    }
  };
}

/**
 * Checks the presence of a body, because the validator misses an absent one without required fields, and an undescribed
 * one (D-06).
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
