import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { verify } from '@octokit/webhooks-methods';
import test, { type ExecutionContext } from 'ava';
import type { WebhookFormat } from '../../../core/alerts/webhook.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { createWebhookAgent, sendTestDelivery } from '../../../notifications/webhook/sending.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { createTemplateRenderer } from '../../../notifications/webhook/template/renderer.ts';
import { TestAuthority, type KeyPair } from '../../helpers/certificates.ts';
import { startHttpServer } from '../../helpers/http-server.ts';

const SECRET = generateSigningSecret(randomBytes);
let keys: KeyPair;

test.before(async () => {
  const authority = await TestAuthority.create();
  authority.trust();
  keys = await authority.issue({ hosts: ['127.0.0.1'] });
});

test('a receiver that responds with 2xx passes, and gets a signed monitor.up marked as a test', async (t) => {
  const bodies: string[] = [];
  const signatures: string[] = [];
  const problem = await tryReceiver(t, async (request, response) => {
    signatures.push(String(request.headers['x-service-signature']));
    bodies.push(await text(request));
    response.end();
  });
  t.is(problem, null);
  t.is(bodies.length, 1);
  const [body = ''] = bodies;
  t.like(JSON.parse(body), { version: '1', event: 'monitor.up', state: 'up', test: true, delivery_id: 'dlv_test' });
  t.true(await verify(SECRET, body, signatures[0] ?? ''));
});

test('a 5xx fails at once: a test delivery is never retried', async (t) => {
  let requests = 0;
  const problem = await tryReceiver(t, (_request, response) => {
    requests += 1;
    response.writeHead(503).end();
  });
  t.is(problem, 'test delivery failed: The endpoint responded with 503');
  t.is(requests, 1);
});

test('a receiver that does not respond fails at the deadline with a timeout', async (t) => {
  t.regex((await tryReceiver(t, () => undefined, { deadlineMs: 300 })) ?? '', /^test delivery failed: .*[Tt]imed out/);
});

test('an untrusted certificate fails with a reason that names it', async (t) => {
  const untrusted = await (await TestAuthority.create()).issue({ hosts: ['127.0.0.1'] });
  t.regex(
    (await tryReceiver(t, (_request, response) => void response.end(), { keyPair: untrusted })) ?? '',
    /^test delivery failed: .*certificate/,
  );
});

const BAD_TEMPLATES: readonly [string, string, RegExp][] = [
  ['an unclosed tag', '{"a": {% if x %}1}', /template\.body is not valid Liquid: .*line:1/],
  ['an unknown filter', '{{ title | shout }}', /undefined filter: shout/],
  ['an included file', '{% include "/etc/passwd" %}', /tag "include" not found/],
  [
    'invalid JSON for names with quotes',
    '{"title": "{{ monitor.name }}"}',
    /does not render valid JSON.*monitor\.down/,
  ],
  [
    'an excessive loop',
    '{% for a in (1..9999) %}{% for b in (1..9999) %}x{% endfor %}{% endfor %}',
    /renders too much/,
  ],
  [
    'an unknown filter used only for degraded monitors',
    "{}{% if event == 'monitor.degraded' %}{{ detail.sources_down | where_exp: 'i', 'i | shout' }}{% endif %}",
    /undefined filter: shout.*monitor\.degraded/,
  ],
  ['an output of more than 256 kB', '{% for a in (1..9999) %}{{ "now" | date: "%0100Y" }}{% endfor %}', /renders/],
];
for (const [what, body, sentence] of BAD_TEMPLATES) {
  test(`a template with ${what} is rejected with a reason, and nothing is sent`, async (t) => {
    let requests = 0;
    const listener: RequestListener = (_request, response) => void ((requests += 1), response.end());
    const template = { method: 'POST', contentType: 'application/json', body } as const;
    t.regex((await tryReceiver(t, listener, { format: { template } })) ?? '', sentence);
    t.is(requests, 0);
  });
}

test('a template sets the method, content type and body', async (t) => {
  const seen: unknown[] = [];
  const template = { method: 'PUT', contentType: 'text/plain', body: '{{ title }} of {{ dedup_key }}' } as const;
  const problem = await tryReceiver(
    t,
    async (request, response) => {
      seen.push(request.method, request.headers['content-type'], await text(request));
      response.end();
    },
    { format: { template } },
  );
  t.is(problem, null);
  t.deepEqual(seen, ['PUT', 'text/plain', 'Recovered: Test delivery of spotcheck/spotcheck.example/mon_test']);
});

async function tryReceiver(
  t: ExecutionContext,
  listener: RequestListener,
  {
    deadlineMs = 60_000,
    keyPair = keys,
    format = null,
  }: { deadlineMs?: number; keyPair?: KeyPair; format?: WebhookFormat } = {},
): Promise<string | null> {
  const { port } = await startHttpServer(t, listener, keyPair);
  const agent = createWebhookAgent();
  t.teardown(() => agent.destroy());
  const webhook = {
    url: `https://127.0.0.1:${port}/`,
    signingSecret: SECRET,
    format,
    account: 'ten_1',
    deliveryId: 'dlv_test',
    publicUrl: 'https://spotcheck.example',
  };
  return (
    await sendTestDelivery(webhook, {
      http: createHttpClient({ allowPrivateNetwork: true }),
      agent,
      deadlineMs,
      now: Date.now,
      renderer: createTemplateRenderer(),
    })
  ).error;
}
