import test from 'ava';
import { createHttpProbe } from '../../../probes/http.ts';
import { TestAuthority } from '../../helpers/certificates.ts';
import { httpTarget } from '../../helpers/check-target.ts';
import { startHttpServer } from '../../helpers/http-server.ts';

const HOSTS = ['localhost', '127.0.0.1'];
const authority = await TestAuthority.create();
authority.trust();
const probe = createHttpProbe({ allowPrivateNetwork: true });

test('a redirect from https to http is refused if the check has a secret, and followed otherwise', async (t) => {
  const plain = await startHttpServer(t, (_, response) => response.end());
  const keys = await authority.issue({ hosts: HOSTS });
  const secure = await startHttpServer(
    t,
    (_, response) => response.writeHead(302, { Location: `http://127.0.0.1:${plain.port}/` }).end(),
    keys,
  );
  const target = `https://127.0.0.1:${secure.port}/`;

  const refused = await probe(httpTarget({ target, secrets: { secretHeaders: { 'X-Key': 'hidden' } } }));
  t.like(refused, { outcome: 'failed', cause: 'insecure_redirect' });
  t.is(plain.connections(), 0);

  t.like(await probe(httpTarget({ target })), { outcome: 'answered', status: 200 });
  t.is(plain.connections(), 1);
});

test('a redirect to another port drops the secrets', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS });
  const secure = await startHttpServer(t, (request, response) => response.end(String(request.headers['x-key'])), keys);
  const plain = await startHttpServer(t, (_, response) =>
    response.writeHead(301, { Location: `https://127.0.0.1:${secure.port}/` }).end(),
  );
  const observation = await probe(
    httpTarget({
      target: `http://127.0.0.1:${plain.port}/`,
      secrets: { secretHeaders: { 'X-Key': 'hidden' } },
      bodyMatch: 'x',
    }),
  );
  t.like(observation, { outcome: 'answered', body: 'undefined' });
});

test('of the certificates before and after a redirect, the one that expires first is reported', async (t) => {
  const last = await startHttpServer(
    t,
    (_, response) => response.end(),
    await authority.issue({ hosts: HOSTS, validForDays: 60 }),
  );
  const first = await startHttpServer(
    t,
    (_, response) => response.writeHead(302, { Location: `https://127.0.0.1:${last.port}/` }).end(),
    await authority.issue({ hosts: HOSTS, validForDays: 5 }),
  );
  const { certificate, startedAt } = await probe(httpTarget({ target: `https://localhost:${first.port}/` }));
  t.is(Math.round(((certificate?.validTo ?? 0) - startedAt / 1000) / 86_400), 5);
});
