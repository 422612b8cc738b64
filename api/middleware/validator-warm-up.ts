import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../api-error.ts';
import { BASE_PATH, METHODS, requestPart } from '../description.ts';
import type { Description } from '../description.ts';

/**
 * Sends one empty request of each operation through the validator, so that a schema that does not compile stops the start and not the
 * first caller.
 */
export async function warmUp(description: Description, steps: readonly RequestHandler[], app: unknown): Promise<void> {
  for (const [path, item] of Object.entries(requestPart(description).paths)) {
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
