import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext, TestFn } from 'ava';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createApp } from '../../api/app.ts';
import type { ApiDependencies } from '../../api/handler.ts';
import { UnstoredPings } from '../../api/heartbeats/ping-storage.ts';
import { LISTEN_BACKLOG } from '../../api/system/unreadable-request.ts';
import type { Plan } from '../../core/accounts/plans.ts';
import { buildTestMessage } from '../../core/alerts/envelope.ts';
import type { ScheduleChange } from '../../core/checks/slots.ts';
import { createApiToken, generateToken } from '../../models/accounts/api-tokens.ts';
import { createTenant } from '../../models/accounts/tenants.ts';
import { registerSharedAgent } from '../../models/agents/shared-agents.ts';
import { closeDatabase, type Database } from '../../models/database.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { createWriteProof } from '../../models/system/service-marks.ts';
import { NOTHING_MORE } from '../../notifications/attempt-result.ts';
import type { Email } from '../../notifications/email/sending.ts';
import type { TestedWebhook } from '../../notifications/webhook/sending.ts';
import { createTemplateRenderer } from '../../notifications/webhook/template/renderer.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import type { DrillJob, ResultPayload } from '../../queues/payloads.ts';
import type { AnswerJson, Untyped } from '../helpers/answer-types.ts';
import { createTestDatabase, openTestDatabase } from '../helpers/database.ts';
import { createAnswerCheck } from '../helpers/described-answers.ts';
import { LASTING_CONNECTIONS } from '../helpers/http-server.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';

/** An HTTP response; `json` is empty if the body is not JSON. */
export type Answer<Json = Untyped> = { status: number; headers: Headers; text: string; json: Json };

// oxlint-disable max-params -- a call reads like the request that it sends: method, path, body, headers

/**
 * Sends a request as a user or a token, to the first process by default. A string body is sent unchanged, any other as
 * JSON.
 */
export type Call = <M extends string, P extends string>(
  method: M,
  path: P,
  body?: unknown,
  headers?: Record<string, string>,
  base?: string,
) => Promise<Answer<P extends `/v1${infer Rest}` ? AnswerJson<M, Rest> : AnswerJson<M, P>>>;

/** An account and its tokens. */
export type Account = { tenantId: string; owner: Call; reader: Call; ownerToken: string; readerToken: string };

/** The API on a separate port and database, with the recorded calls to its dependencies. */
export type ApiServer = {
  url: string;
  /** Server of the first process, for tests that call it without sockets. */
  server: Server;
  database: Database;
  databaseUrl: string;
  makeId: ApiDependencies['makeId'];
  scheduleChanges: ScheduleChange[];
  testDeliveries: TestedWebhook[];
  /** Error of the test delivery by URL; other URLs answer 2xx. */
  testDeliveryFailures: Map<string, string>;
  /** Emails that the mail server accepted. */
  sentEmails: Email[];
  /** Agents' results on their way to the evaluator. */
  submittedResults: ResultPayload[];
  /** Attempts for which the API wanted to add jobs. */
  enqueuedAttempts: DueAttempt[];
  enqueuedDrills: DrillJob[];
  logLines: Record<string, unknown>[];
  anonymous: Call;
  account(plan?: Plan): Promise<Account>;
  /** Starts another process of the same installation and returns its URL. */
  another(overrides?: Partial<ApiDependencies>): Promise<string>;
  close(): Promise<void>;
};

/** Differences from the standard test server: parts of the API, or the size of its database pool. */
type Overrides = Partial<ApiDependencies> & { poolSize?: number };

/** Adds routes to the app, such as the console's. */
type Mount = Parameters<typeof createApp>[1];

/** Regions of the shared agents on every test server, in order of creation. */
export const REGIONS = ['frankfurt', 'singapore', 'virginia', 'hanoi'];

/**
 * Starts the API, including the routes of `mount`, before the tests of a file and stops it after them. Every response
 * is validated against the description.
 */
export function withApiServer(test: TestFn<{ api: ApiServer }>, overrides: Overrides = {}, mount?: Mount): void {
  let api: ApiServer | null = null;
  test.before(async () => {
    api = await startApiServer(overrides, mount);
  });
  test.beforeEach((t) => {
    if (api === null) throw new Error('The API did not start');
    t.context = { api };
  });
  test.after.always(async () => {
    await api?.close();
  });
}

async function startApiServer({ poolSize, ...overrides }: Overrides, mount?: Mount): Promise<ApiServer> {
  const { databaseUrl, drop } = await createTestDatabase();
  const database = openTestDatabase(databaseUrl, poolSize === undefined ? {} : { poolSize });
  const makeId = createIdSource();
  const scheduleChanges: ScheduleChange[] = [];
  const testDeliveries: TestedWebhook[] = [];
  const testDeliveryFailures: ApiServer['testDeliveryFailures'] = new Map();
  const sentEmails: Email[] = [];
  const submittedResults: ResultPayload[] = [];
  const enqueuedAttempts: DueAttempt[] = [];
  const enqueuedDrills: DrillJob[] = [];
  const logLines: Record<string, unknown>[] = [];
  const templates = createTemplateRenderer();
  const closers: (() => Promise<void>)[] = [templates.close];
  const servers: Server[] = [];

  const listen = async (different: Partial<ApiDependencies> = {}): Promise<string> => {
    const server = createServer(LASTING_CONNECTIONS);
    server.listen({ port: 0, host: '127.0.0.1', backlog: LISTEN_BACKLOG });
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { app, bulkJobs } = await createApp(
      {
        database,
        rateLimitStore: { kind: 'postgres', pool: database.pool },
        onScheduleChange: async (change) => void scheduleChanges.push(change),
        sendTestDelivery: async (webhook) => {
          testDeliveries.push(webhook);
          const error = testDeliveryFailures.get(webhook.url) ?? null;
          const outcome = error === null ? 'delivered' : 'failed';
          return {
            error,
            attempt: { outcome, statusCode: 204, durationMs: 12, error, response: null },
            message: buildTestMessage({ nowMs: Date.now(), publicUrl: webhook.publicUrl }),
          };
        },
        templates,
        sendTestMessage: async () => null,
        enqueueAttempts: async (attempts) => void enqueuedAttempts.push(...attempts),
        enqueueDrill: async (answers) => void enqueuedDrills.push(...answers),
        openId: null,
        authorizeSlack: null,
        telegramBot: 'bot_of_the_test',
        sendSlack: () => Promise.reject(new Error('Nothing is sent to Slack here')),
        sendEmail: async (email) => {
          sentEmails.push(email);
          return {
            ...NOTHING_MORE,
            outcome: 'delivered',
            statusCode: 250,
            durationMs: 12,
            error: null,
            response: null,
          };
        },
        readVendorPage: async () => ({
          outcome: 'failed',
          failure: { kind: 'unreachable', reason: 'No worker reads pages here' },
          latencyMs: null,
        }),
        runPreview: async () => ({
          verdict: 'up',
          cause: null,
          reason: null,
          latencyMs: 12,
          httpStatus: null,
          phases: null,
          answer: null,
          certificate: null,
          conditions: [],
          facts: [],
        }),
        submitResults: async (results) => void submittedResults.push(...results),
        readQueues: async () => ({
          depths: [{ name: 'evaluate', waiting: 2, active: 1, delayed: 0, failed: 0 }],
          oldestResultsAtMs: Date.now() - 3000,
        }),
        isStoring: createWriteProof(different.database ?? overrides.database ?? database),
        findAwayQueues: async () => [],
        recordFailedCheck: null,
        unstoredPings: new UnstoredPings(Date.now),
        stopping: new AbortController().signal,
        metrics: new Registry(),
        logger: pino({ level: 'info' }, { write: (line: string) => void logLines.push(JSON.parse(line)) }),
        now: Date.now,
        makeId,
        config: {
          publicUrl: `${url}${CONSOLE_BASE_PATH}`,
          planCountLimits: true,
          telegramBotName: null,
          slackClientId: null,
          trustedProxies: [],
        },
        ...overrides,
        ...different,
      },
      mount,
    );
    bulkJobs.start();
    closers.unshift(() => bulkJobs.stop());
    server.on('request', app);
    servers.push(server);
    closers.push(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return url;
  };

  for (const region of REGIONS) {
    await registerSharedAgent(database, {
      newId: makeId('agt'),
      region,
      version: '0.1.0',
      arch: 'x64',
      nowMs: Date.now(),
    });
  }
  const url = await listen();
  const [server] = servers;
  if (server === undefined) throw new Error('No process listens');
  const callWith =
    (token: string | null): Call =>
    (method, path, body, headers, base = url) =>
      send(`${base}${path}`, {
        method,
        body,
        headers: { ...(token !== null && { Authorization: `Bearer ${token}` }), ...headers },
      });
  return {
    url,
    server,
    database,
    databaseUrl,
    makeId,
    scheduleChanges,
    testDeliveries,
    testDeliveryFailures,
    sentEmails,
    submittedResults,
    enqueuedAttempts,
    enqueuedDrills,
    logLines,
    anonymous: callWith(null),
    async account(plan = 'pro') {
      const tenantId = makeId('ten');
      await createTenant(database, { id: tenantId, name: tenantId, plan, nowMs: Date.now(), author: null });
      const issue = async (scopes: ('read' | 'write')[]) => {
        const token = generateToken('spk');
        await createApiToken(
          database,
          {
            id: makeId('tok'),
            tenantId,
            name: 'test',
            token,
            scopes,
            expiresAt: null,
            nowMs: Date.now(),
            author: null,
          },
          10,
        );
        return token;
      };
      const ownerToken = await issue(['read', 'write']);
      const readerToken = await issue(['read']);
      return { tenantId, ownerToken, readerToken, owner: callWith(ownerToken), reader: callWith(readerToken) };
    },
    another: listen,
    async close() {
      for (const close of closers) await close();
      await closeDatabase(database);
      await drop();
    },
  };
}

const problemOf = await createAnswerCheck();

/** Sends one request over real HTTP; throws if the response does not match the description. */
export async function send<Json = Untyped>(
  url: string,
  { method, body, headers }: { method: string; body?: unknown; headers: Record<string, string> },
): Promise<Answer<Json>> {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await textOf(response);
  const problem = problemOf({
    method,
    path: new URL(url).pathname,
    status: response.status,
    contentType: response.headers.get('content-type'),
    body: text,
  });
  if (problem !== null)
    throw new Error(`${method} ${url} was answered with ${response.status}, and not as described: ${problem}: ${text}`);
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : {},
  };
}

/** Returns the path of the page after a list response; null after the last one. */
export function nextPage<P extends string>({ headers }: Answer<object>, path: P): `${P}?${string}` | null {
  const link = /^<http:\/\/[^/]+([^>?]+)\?([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '');
  if (link === null) return null;
  const [, listed, query] = link;
  if (listed !== path) throw new Error(`the page after one of ${path} is of ${listed}`);
  return `${path}?${query}`;
}

/** Reads the whole body; of an endless event stream, everything up to its first event. */
async function textOf(response: Response): Promise<string> {
  if (response.body === null || response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return await response.text();
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('event: ')) break;
  }
  return text;
}

/** Asserts the status and the full shape of an error: its text, and the request id that the header has, too (D-03). */
export function isError(
  t: ExecutionContext<{ api: ApiServer }>,
  answer: Answer<object>,
  expected: { status: number; error: RegExp | string },
): void {
  t.is(answer.status, expected.status, answer.text);
  const { error, request_id: id, ...rest }: Untyped = { ...answer.json };
  t.deepEqual(rest, {});
  t.is(id, answer.headers.get('x-request-id'));
  t.regex(String(id), /^req_\w+$/);
  if (typeof expected.error === 'string') t.is(error, expected.error);
  else t.regex(String(error), expected.error);
}
