import test from 'ava';
import type { Request, Response } from 'express';
import { jsonBody } from '../../../api/middleware/json-body.ts';

/** Returns the content type of a request after the middleware. */
function typeBehind(headers: Record<string, string>): string | undefined {
  const [requireJson, , nameTypeOnce] = jsonBody();
  const request = { headers } as unknown as Request;
  for (const step of [requireJson, nameTypeOnce]) void step?.(request, {} as Response, () => undefined);
  return request.headers['content-type'];
}

test('the validator gets only one spelling of the content type, because it caches schemas by it', (t) => {
  for (const type of [
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/json; x=1',
    'application/json;x=2',
  ]) {
    t.is(typeBehind({ 'content-type': type, 'content-length': '2' }), 'application/json');
  }
  t.is(typeBehind({ 'content-type': 'text/x-anything' }), 'application/json');
  t.is(typeBehind({}), 'application/json');
});

test('a body of any other type is refused, with a length or in chunks', (t) => {
  const framings: Record<string, string>[] = [{ 'content-length': '1' }, { 'transfer-encoding': 'chunked' }];
  for (const framing of framings) {
    for (const type of ['text/plain', 'application/jsonp', 'application/xml', 'multipart/form-data; boundary=x']) {
      t.throws(() => typeBehind({ 'content-type': type, ...framing }), {
        message: `Content-Type must be application/json, got ${type}`,
      });
    }
    t.throws(() => typeBehind(framing), { message: 'Content-Type must be application/json, got none' });
  }
});
