import type { Request, RequestHandler } from 'express';
import { AjvOptions } from 'express-openapi-validator/dist/framework/ajv/options.js';
// Not by its entry, which also loads what checks documents and answers, and hands every request through steps of its
// own.
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

/** Where the validator expects the operation that a request is held against. */
type ValidatedRequest = Request & {
  openapi?: {
    expressRoute: string;
    openApiRoute: string;
    pathParams: Record<string, string>;
    schema: Operation;
    serial: number;
  };
};

/** Tells documents apart that one process validates; ours is the only one. */
const SERIAL = 1;

/** All problems of a request at once; formats are those of JSON schemas, and no string becomes another value. */
const OPTIONS = new AjvOptions({
  validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
  validateFormats: true,
  ajvFormats: { mode: 'fast' },
  formats: {},
  serDes: [],
} as never);

/** Makes the steps that hold a request of an operation against the description. */
export type Validation = (operation: OperationKey) => RequestHandler[];

/** What was compiled serves every application of the process. */
const validations = new WeakMap<Description, Validation>();

/**
 * The validation of shape. An operation's schemas are compiled for its first request, within some milliseconds; that
 * all of them do compile, and that the document is one of OpenAPI, is for the tests to show.
 */
export function validationOf(description: Description): Validation {
  const validation = validations.get(description) ?? createValidation(description);
  validations.set(description, validation);
  return validation;
}

function createValidation(description: Description): Validation {
  // Operations come to it one by one and refer to nothing. It would read a document with paths once more for each.
  const document = { openapi: description.openapi, paths: {}, components: {} };
  const validator = new RequestValidator(document as never, OPTIONS.request);
  return (operation) => [validateRequest(validator, { ...operation, description }), checkBody(description, operation)];
}

/** Lets a request through that is as described. */
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
