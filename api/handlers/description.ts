import type { RequestHandler } from 'express';
import type { Description } from '../description.ts';

/** `GET /openapi.json`: made once, because it never changes while the process runs. */
export function getDescriptionHandler(description: Description): RequestHandler {
  const json = JSON.stringify(description);
  return (_request, response) => {
    response.type('application/json').send(json);
  };
}
