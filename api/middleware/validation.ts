import type { Request, RequestHandler, Response } from 'express';
import { error as validatorErrors, middleware as createValidator } from 'express-openapi-validator';
import { READ_ONLY_FIELDS } from '../../core/monitor-input/fields.ts';
import { ApiError, badRequest, methodNotAllowed } from '../api-error.ts';
import { bodySchema, METHODS, querySchema, validatedPart } from '../description.ts';
import type { Description } from '../description.ts';
import { contextOf } from '../request-context.ts';
import { describeComplaints } from '../validation-message.ts';
import type { Complaint } from '../validation-message.ts';

/** Below which path the described operations are served. */
export const BASE_PATH = '/v1';

/** Holds requests, and answers where `validateResponses`, against the description. Unknown paths are 404, unknown methods 405 with `Allow`. */
export function validation(description: Description, validateResponses: boolean): RequestHandler[] {
  const validator = createValidator({
    // The package has its own type for the document, which the parsed YAML cannot prove to have.
    apiSpec: validatedPart(description) as never,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: false },
    validateResponses,
    validateSecurity: false,
    fileUploader: false,
    ignorePaths: (path: string) => !path.startsWith(`${BASE_PATH}/`),
  });
  const steps = validator.map((step): RequestHandler => (request, response, next) => {
    step(request, response, (refusal?: unknown) => {
      noteRoute(request, response);
      next(refusal === undefined ? undefined : explain(refusal, { description, request }));
    });
  });
  return [...steps, requireBody(description)];
}

/** The validator misses an absent body where no field of the body is required. */
function requireBody(description: Description): RequestHandler {
  return (request, _response, next) => {
    const takesBody = bodySchema(description, pathOf(request), request.method) !== undefined;
    if (takesBody && request.body === undefined) throw badRequest('the body is required');
    next();
  };
}

/**
 * Sends one empty request of each operation through the validator, so that a schema that does not compile stops the start and not the
 * first caller.
 */
export async function warmUp(description: Description, steps: readonly RequestHandler[], app: unknown): Promise<void> {
  for (const [path, item] of Object.entries(validatedPart(description).paths)) {
    for (const method of METHODS.filter((candidate) => item[candidate] !== undefined)) {
      const url = `${BASE_PATH}${path.replaceAll(/\{\w+\}/g, 'warm-up')}`;
      const request = { app, method: method.toUpperCase(), url, originalUrl: url, path: url, baseUrl: '', params: {}, query: {}, headers: { 'content-type': 'application/json' } };
      for (const step of steps) await compile(step, request);
    }
  }
}

async function compile(step: RequestHandler, request: object): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      // Only what the validator reads of a request and answers to is there.
      void step(request as Request, { locals: {} } as Response, (refusal?: unknown) => (refusal === undefined ? resolve() : reject(refusal)));
    });
  } catch (refusal) {
    // An empty request may well be refused: the schema that says so has compiled.
    if (!(refusal instanceof ApiError)) throw refusal;
  }
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

/** The validator's refusal in our words; anything that is no refusal of the request is passed on as the fault that it is. */
function explain(refusal: unknown, { description, request }: { description: Description; request: Request }): unknown {
  if (refusal instanceof validatorErrors.NotFound) return new ApiError(404, 'there is nothing at this path');
  if (refusal instanceof validatorErrors.MethodNotAllowed) return methodNotAllowed(request.method, allowedMethods(refusal.headers));
  if (!(refusal instanceof validatorErrors.BadRequest)) return refusal;
  return badRequest(...sentencesOf(refusal.errors, { description, request }));
}

function allowedMethods(headers: object | undefined): string {
  const named = String(Object.entries(headers ?? {}).find(([name]) => name === 'Allow')?.[1] ?? '').split(', ');
  return METHODS.map((method) => method.toUpperCase()).filter((method) => named.includes(method)).join(', ');
}

type ValidatorError = { path: string; message: string; errorCode?: string };

function sentencesOf(errors: readonly ValidatorError[], { description, request }: { description: Description; request: Request }): string[] {
  const path = pathOf(request);
  const complaints = errors.map(({ path: pointer, message, errorCode }): Complaint => ({ path: pointer, message, keyword: errorCode?.split('.')[0] ?? '' }));
  const inBody = complaints.filter((complaint) => complaint.path === '/body' || complaint.path.startsWith('/body/'));
  const inQuery = complaints.filter((complaint) => complaint.path.startsWith('/query/'));
  const bodySentences = describeComplaints(
    inBody.map((complaint) => ({ ...complaint, path: complaint.path.slice('/body'.length) })),
    { description, schema: bodySchema(description, path, request.method), value: request.body, readOnly: path.startsWith('/monitors') ? READ_ONLY_FIELDS : [] },
  );
  const querySentences = inQuery.flatMap((complaint) => describeQuery(complaint, { description, path, request }));
  return [...bodySentences, ...querySentences, ...(bodySentences.length + querySentences.length === 0 ? [errors[0]?.message ?? 'the request is not valid'] : [])];
}

function describeQuery(complaint: Complaint, { description, path, request }: { description: Description; path: string; request: Request }): string[] {
  const name = complaint.path.slice('/query/'.length);
  const schema = querySchema(description, path, name);
  if (schema === undefined) return [`${name} is not a known query parameter here`];
  return describeComplaints([{ ...complaint, path: `/${name}` }], { description, schema: { properties: { [name]: schema } }, value: request.query, readOnly: [] });
}
