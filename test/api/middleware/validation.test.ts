import test from 'ava';
import express, { type Request, type Response } from 'express';
import { OpenApiSpecLoader } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js';
import { ApiError } from '../../../api/api-error.ts';
import { METHODS, readDescription, type Description, type OperationKey } from '../../../api/description.ts';
import { validationOf, type Validation } from '../../../api/middleware/validation.ts';

const description = await readDescription();
/** The description with only the paths below /v1: other requests are not validated. */
const requests = {
  ...description,
  paths: Object.fromEntries(Object.entries(description.paths).filter(([, item]) => item.servers === undefined)),
};

const listKeys = ({ paths }: Pick<Description, 'paths'>): OperationKey[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({ path, method })),
  );

/**
 * Sends an empty request of an operation through the validator. Returns whether it passes; rejects on any error but an
 * ApiError.
 */
async function passes(validate: Validation, operation: OperationKey): Promise<boolean> {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const url = `/v1${operation.path.replaceAll(/\{\w+\}/g, 'any')}`;
  const request = {
    app: express(),
    method: operation.method.toUpperCase(),
    url,
    originalUrl: url,
    path: url,
    baseUrl: '',
    params: Object.fromEntries(names.map((name) => [name, 'any'])),
    query: {},
    headers: { 'content-type': 'application/json' },
  };
  try {
    for (const step of validate(operation)) {
      // The request and the response have only the parts that the validator uses.
      await new Promise<void>(
        (resolve, reject) =>
          void step(request as unknown as Request, { locals: {} } as Response, (refusal?: unknown) =>
            refusal === undefined ? resolve() : reject(refusal),
          ),
      );
    }
    return true;
  } catch (refusal) {
    if (refusal instanceof ApiError) return false;
    throw refusal;
  }
}

test('the description is valid OpenAPI, and the validator package reads it unchanged', async (t) => {
  const { apiDoc, routes } = await new OpenApiSpecLoader({
    apiDoc: structuredClone(requests) as never,
    validateApiSpec: true,
    $refParser: { mode: 'bundle' },
  }).load();
  t.is(routes.length, listKeys(requests).length);
  // The package only sorts the tags.
  const given = requests as unknown as typeof apiDoc;
  t.deepEqual({ ...apiDoc, tags: [] }, { ...given, tags: [] });
});

test('the schemas of every operation compile', async (t) => {
  const validate = validationOf(description);
  const outcomes = await Promise.all(listKeys(requests).map((operation) => passes(validate, operation)));
  // Lists require nothing and writes require a body, so both outcomes prove that requests were validated.
  t.true(outcomes.includes(true));
  t.true(outcomes.includes(false));
});

test('a schema that does not compile fails only the requests that need it', async (t) => {
  const broken = structuredClone(description);
  broken.paths = {
    '/good': { get: { operationId: 'good' } },
    '/bad': {
      get: { operationId: 'bad', parameters: [{ name: 'limit', in: 'query', schema: { type: 'no such type' } }] },
    },
  };
  const validate = validationOf(broken);
  await t.throwsAsync(() => passes(validate, { path: '/bad', method: 'get' }), { message: /no such type/ });
  t.true(await passes(validate, { path: '/good', method: 'get' }));
});
