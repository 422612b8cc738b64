import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Client } from 'pg';
import { withClient } from '../../cli/embedded-postgres/connection.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';

const CANARY = {
  secretHeader: 'canary-header-7f3a',
  password: 'canary-password-91bc',
  body: 'canary-body-55d0',
  urlPath: 'canary-path-2e8f',
};

/** Every row of every table, as PostgreSQL would print it. */
async function dump(databaseUrl: string): Promise<string> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_schema IN ('public', 'bullmq') AND table_type = 'BASE TABLE'`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

test('secrets are used by the probe and the webhook, and stand nowhere in answers, logs, queues, metrics or, in clear, the database', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'spotcheck-secrets-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const receiver = await startReceiver(t);
  const arrived: string[] = [];
  let status = 200;
  const target = await startHttpServer(t, (request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => arrived.push(text));
    request.on('end', () => {
      arrived.push(JSON.stringify(request.headers));
      response.statusCode = status;
      for (const name of ['X-Echo', 'Server', 'Location']) response.setHeader(name, `/${request.headers['x-key']}?${request.headers.authorization}`);
      // A target that echoes what it was sent is how secrets come back.
      response.end(arrived.slice(-2).join());
    });
  });
  const password = 'board-password';
  const service = startProgram(t, ['cli/spotcheck.ts', 'start'], {
    DATA_DIR: join(directory, 'data'),
    PORT: '0',
    LOG_LEVEL: 'trace',
    BOOTSTRAP_TOKEN: 'spk_canary-token-44aa',
    QUEUE_BOARD_PASSWORD: password,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
  });
  const [, url = ''] = await outputMatching(service, /ready at (\S+)/);
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { Authorization: 'Bearer spk_canary-token-44aa', 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return await response.text();
  };
  const channel = await call('POST', '/v1/channels', { type: 'webhook', name: 'Hook', url: `${receiver.url}/${CANARY.urlPath}` });
  const signingSecret = String(JSON.parse(channel).signing_secret);
  const created = await call('POST', '/v1/monitors', {
    name: 'Shop',
    target: `http://127.0.0.1:${target.port}/`,
    interval_seconds: 1,
    method: 'POST',
    body_match: 'canary',
    check_spec: {
      request: { secretHeaders: { 'X-Key': CANARY.secretHeader }, auth: { type: 'basic', username: 'user', password: CANARY.password }, body: CANARY.body, bodySecret: true },
      assertions: [{ source: 'text_body', op: 'contains', value: 'never there' }],
    },
  });
  const id = String(JSON.parse(created).id);
  await until(() => receiver.received.some(({ event }) => event === 'monitor.down'), { timeoutMs: 20_000 });
  status = 500;
  await call('PATCH', `/v1/monitors/${id}`, { name: 'Shop 2', check_spec: { request: { preserveSecretHeaders: true, auth: { type: 'basic' }, bodySecret: true, preserveBody: true } } });
  status = 200;
  await until(() => receiver.received.filter(({ event }) => event === 'monitor.up').length > 1, { timeoutMs: 20_000 });
  status = 500;
  await until(() => receiver.received.some(({ body }) => body.includes('status_500')), { timeoutMs: 20_000 });

  const basic = Buffer.from(`user:${CANARY.password}`).toString('base64');
  const everythingSent = arrived.join('\n');
  for (const secret of [CANARY.secretHeader, CANARY.body, basic]) t.true(everythingSent.includes(secret), 'the probe sends its secrets');

  const reads = await Promise.all(['/monitors', `/monitors/${id}`, '/overview', '/incidents', `/monitors/${id}/incidents`, '/channels', '/agents', '/reports'].map((path) => call('GET', `/v1${path}`)));
  const board = await fetch(`${url}/queues/api/queues?status=latest&jobsPerPage=100`, { headers: { Authorization: `Basic ${Buffer.from(`x:${password}`).toString('base64')}` } });
  const { databaseUrl } = JSON.parse(await readFile(join(directory, 'data', 'runtime.json'), 'utf8')) as { databaseUrl: string };
  const evidence = await withClient(databaseUrl, async (client) => (await client.query<{ seen: { answer: object } }>('SELECT seen FROM incident_evidence')).rows);
  t.true(evidence.length > 0 && evidence.every(({ seen }) => JSON.stringify(seen.answer).includes('"bodyWithheld":"secrets"')), 'what was seen is kept, without what may be secret');
  const places = {
    answers: [created, ...reads].join('\n'),
    logs: service.output(),
    queues: await board.text(),
    metrics: await call('GET', '/metrics'),
    database: await dump(databaseUrl),
    webhooks: receiver.received.map(({ body }) => body).join('\n'),
  };
  const secrets = { ...CANARY, basic, signingSecret, token: 'canary-token-44aa', board: password };
  for (const [place, text] of Object.entries(places)) {
    t.true(text.length > 100, `${place} was read`);
    for (const [name, secret] of Object.entries(secrets)) {
      const isShownOnce = place === 'logs' && name === 'token';
      t.false(!isShownOnce && text.includes(secret), `${name} stands in ${place}`);
    }
  }
});
