import test from 'ava';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { OpenApiSpecLoader } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js';
import { ApiError } from '../../../api/api-error.ts';
import { BASE_PATH, readDescription, requestPart } from '../../../api/description.ts';
import { listDescribedRoutes, type DescribedRoute } from '../../../api/middleware/described-routes.ts';
import { validation } from '../../../api/middleware/validation.ts';

const description = await readDescription();
const requests = requestPart(description);

const inOrder = (routes: readonly object[]) => routes.map((route) => JSON.stringify(route)).toSorted();

/**
 * Sends an empty request of an operation through the validator; true when it goes through, rejects with anything but a
 * refusal of ours.
 */
async function passes(steps: readonly RequestHandler[], { expressRoute, method }: DescribedRoute): Promise<boolean> {
  const app = express();
  const url = expressRoute.replaceAll(/:\w+/g, 'any');
  const request = {
    app,
    method,
    url,
    originalUrl: url,
    path: url,
    baseUrl: '',
    params: {},
    query: {},
    headers: { 'content-type': 'application/json' },
  };
  try {
    for (const step of steps) {
      // Only what the validator reads of a request and answers to is there.
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

test(
  'what requests are held against is a document of OpenAPI, and its operations are those that the package itself ' +
    'finds',
  async (t) => {
    const { apiDoc, basePaths, routes } = await new OpenApiSpecLoader({
      apiDoc: structuredClone(requests) as never,
      validateApiSpec: true,
      $refParser: { mode: 'bundle' },
    }).load();
    t.deepEqual(inOrder(listDescribedRoutes(requests)), inOrder(routes));
    t.deepEqual(basePaths, [`${BASE_PATH}/`]);
    // It only sorts the tags.
    const given = requests as unknown as typeof apiDoc;
    t.deepEqual({ ...apiDoc, tags: [] }, { ...given, tags: [] });
  },
);

test('a path without ids goes before one whose id it could be', (t) => {
  const operation = { get: { operationId: 'any' } };
  const paths = {
    '/monitors/{id}': operation,
    '/monitors/{id}/checks': operation,
    '/monitors/summary': operation,
    '/monitors': operation,
  };
  const expressRoutes = listDescribedRoutes({ paths }).map(({ expressRoute }) => expressRoute);
  t.true(
    expressRoutes.indexOf('/v1/monitors/summary') < expressRoutes.indexOf('/v1/monitors/:id'),
    expressRoutes.join(' '),
  );
});

test('the schemas of every operation compile', async (t) => {
  const steps = validation(description);
  const outcomes = await Promise.all(listDescribedRoutes(requests).map((route) => passes(steps, route)));
  // Lists want nothing, writes want a body: both kinds came as far as being held against their schemas.
  t.true(outcomes.includes(true));
  t.true(outcomes.includes(false));
});

test('a schema that does not compile is a fault of the request that needs it, and of no other', async (t) => {
  const broken = structuredClone(description);
  broken.paths = {
    '/good': { get: { operationId: 'good' } },
    '/bad': {
      get: { operationId: 'bad', parameters: [{ name: 'limit', in: 'query', schema: { type: 'no such type' } }] },
    },
  };
  const steps = validation(broken);
  const [bad, good] = listDescribedRoutes(broken);
  if (bad === undefined || good === undefined) throw new Error('Two operations were described');
  await t.throwsAsync(() => passes(steps, bad), { message: /no such type/ });
  t.true(await passes(steps, good));
});
