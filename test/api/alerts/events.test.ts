import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import express, { type RequestHandler } from 'express';
import { middleware as createValidator } from 'express-openapi-validator';
import { readDescription, type Schema } from '../../../api/description.ts';
import { buildAgentMessage } from '../../../core/agents/message.ts';
import {
  buildGroupMessage,
  buildMonitorMessage,
  buildTestMessage,
  type EventMessage,
  type GroupMessage,
} from '../../../core/alerts/envelope.ts';
import { eventOf } from '../../../core/alerts/event.ts';
import { buildAdvisoryMessage } from '../../../core/checks/domain/advisory.ts';
import type { Change } from '../../../core/incidents/change.ts';
import type { StreakResult } from '../../../core/incidents/source-state.ts';
import { fillSummary, openSummary } from '../../../core/incidents/storm.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { attemptWebhook } from '../../../notifications/webhook/attempt.ts';
import { createWebhookAgent } from '../../../notifications/webhook/sending.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { createTemplateRenderer } from '../../../notifications/webhook/template/renderer.ts';
import { TestAuthority, type KeyPair } from '../../helpers/certificates.ts';
import { startHttpServer } from '../../helpers/http-server.ts';

const AT_MS = 1_763_721_000_000;
const publicUrl = 'https://spotcheck.example';
const MONITOR = { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' } as const;

let keys: KeyPair;

test.before(async () => {
  const authority = await TestAuthority.create();
  authority.trust();
  keys = await authority.issue({ hosts: ['127.0.0.1'] });
});

/** Starts a receiver that validates events against the description, and reports fields that it does not define. */
async function startStrictReceiver(
  t: ExecutionContext,
): Promise<{ url: (event: string) => string; post: (event: string, body: unknown) => Promise<string> }> {
  const { openapi, components, webhooks = {} } = await readDescription();
  for (const name of ['MonitorEvent', 'AgentEvent', 'AdvisoryEvent']) {
    const schema = components.schemas[name] as Schema;
    for (const strict of [schema, schema.properties!['detail']!]) strict.additionalProperties = false;
  }
  const paths = Object.fromEntries(
    Object.entries(webhooks).map(([event, item]) => [`/${event}`, withPlainAnswers(item)]),
  );
  const info = { title: 'A receiver', version: '1' };
  const apiSpec = { openapi, info, components, paths };
  const app = express();
  app.use(express.json());
  const steps = createValidator({
    apiSpec: apiSpec as never,
    validateRequests: { allErrors: true },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
  });
  app.use(
    steps.map((step): RequestHandler => (request, response, next) => {
      step(request, response, (refusal?: unknown) =>
        refusal instanceof Error ? void response.status(400).end(refusal.message) : next(refusal),
      );
    }),
  );
  app.use((_request, response) => void response.status(204).end());
  const { port } = await startHttpServer(t, app, keys);
  const url = (event: string) => `https://127.0.0.1:${port}/${event}`;
  return {
    url,
    async post(event, body) {
      const headers = {
        'content-type': 'application/json',
        'x-service-signature': `sha256=${'0'.repeat(64)}`,
        'x-service-event': event,
        'x-service-delivery': 'dlv_1',
        'x-service-timestamp': '1763721001',
        'webhook-id': 'dlv_1',
        'webhook-timestamp': '1763721001',
        'webhook-signature': `v1,${'A'.repeat(43)}=`,
      };
      const answer = await createHttpClient({ allowPrivateNetwork: true })({
        url: new URL(url(event)),
        method: 'POST',
        headers,
        body: Buffer.from(JSON.stringify(body)),
        deadlineMs: 30_000,
        bodyLimit: () => 4096,
      });
      if (answer.outcome === 'failed') throw new Error(answer.reason);
      return answer.status === 204 ? 'fits' : answer.body.toString('utf8');
    },
  };
}

/** Replaces the responses, because the validator does not support ranges of statuses. */
function withPlainAnswers(item: unknown): unknown {
  const { post } = item as { post: object };
  return { post: { ...post, responses: { 204: { description: 'Accepted.' } } } };
}

function changeTo(to: Change['to']): Change {
  const failed: StreakResult = {
    atMs: AT_MS,
    verdict: 'down',
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
    httpStatus: 503,
    latencyMs: 40,
  };
  const source = { newestAtMs: AT_MS, decidedBy: [failed], streak: [] };
  return {
    from: 'degraded',
    to,
    atMs: AT_MS,
    detectedAtMs: AT_MS + 20_000,
    cause: to === 'down' ? 'status_503' : null,
    reason: 'For a reason',
    evidence: {
      tally: { sources: 3, votes: 2, needed: 2, down: 2, impaired: 2 },
      quorum: 2,
      sources: [
        { ...source, agentNo: 1, name: 'frankfurt', standing: 'votes', vote: 'down', fresh: true },
        { ...source, agentNo: 2, name: 'home-lab', standing: 'offline', vote: 'down', fresh: false },
      ],
    },
    failures: [
      {
        agentNo: 1,
        gauge: 'failing',
        first: failed,
        evidence: { phases: null, answer: { status: 503, headers: { server: 'seen' }, body: 'seen' } },
      },
    ],
  };
}

const culprits = [{ id: 'mon_2', name: 'GitHub', state: 'down' }] as const;

const MESSAGES: readonly (EventMessage | GroupMessage)[] = [
  ...(['down', 'degraded', 'up', 'unknown'] as const).map((to) =>
    buildMonitorMessage({
      event: eventOf({ to })!,
      monitor: MONITOR,
      change: changeTo(to),
      culprits,
      sequence: 3,
      incident: { id: 'inc_1', startedAtMs: AT_MS - 60_000 },
      publicUrl,
    }),
  ),
  buildTestMessage({ nowMs: AT_MS, publicUrl }),
  ...(['offline', 'online'] as const).map((state) =>
    buildAgentMessage({
      agent: { id: 'agt_1', name: 'home-lab', region: state === 'online' ? null : 'hanoi' },
      state,
      atMs: AT_MS,
      lastSeenAt: AT_MS / 1000 - 90,
      publicUrl,
    }),
  ),
  buildAdvisoryMessage({
    monitor: MONITOR,
    subject: 'domain',
    name: 'shop.example',
    expiresAt: AT_MS / 1000 + 86_400,
    nowMs: AT_MS,
    publicUrl,
  }),
  buildGroupMessage({
    ...fillSummary(openSummary({ openedAtMs: AT_MS, publicUrl, reason: 'Timed out' }), [
      { name: 'Shop', state: 'down' },
    ]),
    changes: [{ monitor: { id: 'mon_1', name: 'Shop' }, state: 'down', sequence: 3, event_at: AT_MS / 1000 }],
  }),
];

test('every event is sent as the API description defines it, without undescribed fields', async (t) => {
  const { url } = await startStrictReceiver(t);
  const sending = {
    http: createHttpClient({ allowPrivateNetwork: true }),
    agent: createWebhookAgent(),
    deadlineMs: 30_000,
    now: Date.now,
    renderer: createTemplateRenderer(),
  };
  t.teardown(() => sending.agent.destroy());
  for (const message of MESSAGES) {
    const result = await attemptWebhook(
      {
        url: url(message.event),
        signingSecret: generateSigningSecret(randomBytes),
        account: 'ten_1',
        deliveryId: 'dlv_1',
        attempt: 1,
        message,
      },
      sending,
    );
    t.is(result.response, null, message.event);
    t.is(result.outcome, 'delivered', message.event);
  }
  const { webhooks = {} } = await readDescription();
  t.deepEqual(
    [...new Set(MESSAGES.map(({ event }) => event))].toSorted(),
    Object.keys(webhooks).toSorted() as (EventMessage | GroupMessage)['event'][],
  );
});

test('every event example in the API description matches its schema', async (t) => {
  const { post } = await startStrictReceiver(t);
  const { webhooks = {}, components } = (await readDescription()) as {
    webhooks?: Record<string, unknown>;
    components: { examples?: Record<string, { value: unknown }> };
  };
  for (const [event, item] of Object.entries(webhooks)) {
    const { examples } = (
      item as {
        post: { requestBody: { content: { 'application/json': { examples: Record<string, { $ref: string }> } } } };
      }
    ).post.requestBody.content['application/json'];
    for (const { $ref } of Object.values(examples))
      t.is(await post(event, components.examples?.[$ref.split('/').at(-1) ?? '']?.value), 'fits', $ref);
  }
});

test('the receiver of these tests rejects a message with a missing or an additional field', async (t) => {
  const { post } = await startStrictReceiver(t);
  const { agent: _agent, ...rest } = MESSAGES[5] as Extract<EventMessage, { event: `agent.${string}` }>;
  const envelope = { ...rest, delivery_id: 'dlv_1', sent_at: 1_763_721_001 };
  t.regex(await post('agent.offline', envelope), /agent/);
  t.regex(
    await post('agent.offline', { ...envelope, agent: { id: 'agt_1', name: 'home-lab', region: null }, colour: 'red' }),
    /additional properties/,
  );
});
