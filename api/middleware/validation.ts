import type { Request, RequestHandler, Response } from 'express';
import { error as validatorErrors, middleware as createValidator } from 'express-openapi-validator';
import { ApiError, badRequest } from '../api-error.ts';
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
  return validator.map((step): RequestHandler => (request, response, next) => {
    step(request, response, (refusal?: unknown) => {
      noteRoute(request, response);
      next(refusal === undefined ? undefined : explain(refusal, { description, request }));
    });
  });
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
  await new Promise<void>((resolve, reject) => {
    const done = (refusal?: unknown): void => (refusal === undefined || refusal instanceof ApiError ? resolve() : reject(refusal));
    // Only what the validator reads of a request and answers to is there.
    void step(request as Request, { locals: {} } as Response, done);
  });
}

function noteRoute(request: Request, response: Response): void {
  const { openapi } = request as Request & { openapi?: { openApiRoute?: string } };
  if (openapi?.openApiRoute !== undefined) contextOf(response).route = openapi.openApiRoute;
}

/** The validator's refusal in our words; anything that is no refusal of the request is passed on as the fault that it is. */
function explain(refusal: unknown, { description, request }: { description: Description; request: Request }): unknown {
  if (refusal instanceof validatorErrors.NotFound) return new ApiError(404, 'there is nothing at this path');
  if (refusal instanceof validatorErrors.MethodNotAllowed) {
    const allow = String(Object.entries(refusal.headers ?? {}).find(([name]) => name === 'Allow')?.[1] ?? '');
    return new ApiError(405, `${request.method} is not allowed here, only ${allow}`, { Allow: allow });
  }
  if (!(refusal instanceof validatorErrors.BadRequest)) return refusal;
  return badRequest(...sentencesOf(refusal.errors, { description, request }));
}

type ValidatorError = { path: string; message: string; errorCode?: string };

function sentencesOf(errors: readonly ValidatorError[], { description, request }: { description: Description; request: Request }): string[] {
  const { openapi } = request as Request & { openapi?: { openApiRoute?: string } };
  const path = (openapi?.openApiRoute ?? '').slice(BASE_PATH.length);
  const complaints = errors.map(({ path: pointer, message, errorCode }): Complaint => ({ path: pointer, message, keyword: errorCode?.split('.')[0] ?? '' }));
  const inBody = complaints.filter((complaint) => complaint.path === '/body' || complaint.path.startsWith('/body/'));
  const inQuery = complaints.filter((complaint) => complaint.path.startsWith('/query/'));
  const bodySentences = describeComplaints(
    inBody.map((complaint) => ({ ...complaint, path: complaint.path.slice('/body'.length) })),
    { description, schema: bodySchema(description, path, request.method), value: request.body },
  );
  const querySentences = inQuery.flatMap((complaint) => describeQuery(complaint, { description, path, request }));
  return [...bodySentences, ...querySentences, ...(bodySentences.length + querySentences.length === 0 ? [errors[0]?.message ?? 'the request is not valid'] : [])];
}

function describeQuery(complaint: Complaint, { description, path, request }: { description: Description; path: string; request: Request }): string[] {
  const name = complaint.path.slice('/query/'.length);
  const schema = querySchema(description, path, name);
  if (schema === undefined) return [`${name} is not a known query parameter here`];
  return describeComplaints([{ ...complaint, path: `/${name}` }], { description, schema: { properties: { [name]: schema } }, value: request.query });
}
