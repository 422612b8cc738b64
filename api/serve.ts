import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ChatMessage } from '../core/alerts/chat/message.ts';
import { listCheckRegions } from '../models/agents/shared-agents.ts';
import { listVendorDocumentRecords } from '../models/checks/lookups.ts';
import { sealAnswers } from '../models/checks/sealed-jobs.ts';
import { openDatabase, type Database, type DatabaseOptions } from '../models/database.ts';
import type { IdPrefix } from '../models/secrets/ids.ts';
import { createWriteProof } from '../models/system/service-marks.ts';
import { openMailSending, type MailSettings } from '../notifications/email/sending.ts';
import { attemptSlack, openSlackSending } from '../notifications/slack/attempt.ts';
import { authorizeSlack, returnUrl, type SlackApp } from '../notifications/slack/authorization.ts';
import { nameBot } from '../notifications/telegram/bot-api.ts';
import { openTelegramSending, type TelegramSettings } from '../notifications/telegram/sending.ts';
import { openWebhookSending, sendTestDelivery } from '../notifications/webhook/sending.ts';
import type { QueueBackend } from '../queues/connection.ts';
import { createScheduleNotifier } from '../queues/enqueue-committed.ts';
import type { DueAttempt, JobQueues } from '../queues/job-queues.ts';
import { createAwayReading, createQueueReading } from '../queues/metrics.ts';
import type { OpenIdProvider, OpenIdSettings } from './accounts/open-id/provider.ts';
import { createChatTest } from './alerts/channel-test.ts';
import { createApp } from './app.ts';
import type { ApiConfig, ApiDependencies } from './handler.ts';
import { UnstoredPings, publishPingAvailability } from './heartbeats/ping-storage.ts';
import { basePathOf } from './middleware/request-form.ts';
import { createPreviewRun } from './monitors/previews.ts';
import { createVendorLookup } from './monitors/vendors.ts';
import { consolePages, readConsole } from './system/console-pages.ts';
import { QUEUE_BOARD_PATH, loadQueueBoard, queueBoardLogin } from './system/queue-board-login.ts';
import {
  LISTEN_BACKLOG,
  answerUnreadable,
  answerUnroutable,
  closeServer,
  createLimitedServer,
} from './system/unreadable-request.ts';

type ServeOptions = {
  port: number;
  /** Null = all addresses of this machine. */
  host: string | null;
  database: Database;
  backend: QueueBackend;
  queues: JobQueues;
  registry: Registry;
  log: Logger;
  newId: (prefix: IdPrefix) => string;
  telegram: TelegramSettings;
  slack: { clientId: string | null; clientSecret: string | null; apiUrl: string };
  mail: MailSettings | null;
  openId: OpenIdSettings | null;
  /** Sends the span of a failed check to the operator's collector; null if there is none. */
  recordFailedCheck: ApiDependencies['recordFailedCheck'];
  config: ApiConfig & {
    allowPrivateNetwork: boolean;
    webhookTimeoutSeconds: number;
    queueBoardPassword: string | null;
  };
};

/**
 * A listening API. `port` is the actual one if 0 was requested. When stopped, it reports that at `/readyz` at once,
 * serves on for `graceMs`, so that load balancers notice and send no more requests here, and then lets running requests
 * finish.
 */
export type RunningApi = { port: number; stop: (graceMs: number) => Promise<void> };

/** Folder of the console that `npm run console` builds. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../console/dist', import.meta.url));

/** Opens the API on its port; rejects if the port is taken. */
export async function serveApi(options: ServeOptions): Promise<RunningApi> {
  const { database, backend, queues, log, slack, config } = options;
  const senders = openSenders(options);
  const { sendSlack, sendTelegram, sendEmail } = senders;
  const slackApp = slackAppOf(slack, config.publicUrl);
  const enqueueAttempts = (attempts: readonly DueAttempt[]) => queues.enqueueAttempts(attempts);
  const isStoring = createWriteProof(database);
  const findAwayQueues = createAwayReading(queues, () => listCheckRegions(database));
  const stopping = new AbortController();
  const unstoredPings = new UnstoredPings(Date.now);
  const basePath = basePathOf(config.publicUrl);
  const built = await readConsole(CONSOLE_FOLDER, basePath);
  if (built === null) log.warn({ folder: CONSOLE_FOLDER }, 'console.not_built');
  const { app, bulkJobs } = await createApp(
    {
      database,
      rateLimitStore:
        backend.redis === null ? { kind: 'postgres', pool: database.pool } : { kind: 'redis', client: backend.redis },
      onScheduleChange: createScheduleNotifier(queues, () => listCheckRegions(database)),
      sendTestDelivery: (webhook) => sendTestDelivery(webhook, senders.webhook),
      templates: senders.webhook.renderer,
      sendTestMessage: createChatTest({
        database,
        publicUrl: config.publicUrl,
        sendTelegram,
        sendSlack,
        sendEmail,
        now: Date.now,
        newId: options.newId,
        enqueueAttempts,
        logger: log,
      }),
      enqueueAttempts,
      enqueueDrill: async (answers) => queues.enqueueDrill(answers, await listCheckRegions(database)),
      openId: options.openId && (await openProvider(options.openId, log)),
      authorizeSlack: slackApp === null ? null : (code) => authorizeSlack(code, slackApp, senders.slack),
      telegramBot: nameBot(options.telegram.botToken),
      sendSlack,
      sendEmail,
      readVendorPage: createVendorLookup({
        listRecords: (urls) => listVendorDocumentRecords(database, urls),
        enqueueLookup: (target, tenantId) => queues.enqueueLookup(target, tenantId),
        now: Date.now,
      }),
      runPreview: createPreviewRun({ database, queues, makePreviewId: randomUUID, now: Date.now }),
      submitResults: (results) => queues.enqueueResults(sealAnswers(database, results)),
      readQueues: createQueueReading(queues, () => listCheckRegions(database)),
      isStoring,
      findAwayQueues,
      unstoredPings,
      recordFailedCheck: options.recordFailedCheck,
      stopping: stopping.signal,
      metrics: options.registry,
      logger: log,
      now: Date.now,
      makeId: options.newId,
      config,
    },
    (routes, { throttle }) => {
      const means = { database, now: Date.now, makeId: options.newId, publicUrl: config.publicUrl };
      const login = queueBoardLogin({ ...means, throttle, password: config.queueBoardPassword });
      routes.use(QUEUE_BOARD_PATH, login, loadQueueBoard({ basePath, database, queues, now: Date.now }));
      routes.use(consolePages(built, basePath));
    },
  );
  // Express accepts a callback for unhandled requests, as any middleware does, but its types lack it.
  const route = app as unknown as (request: IncomingMessage, response: ServerResponse, giveBack: () => void) => void;
  const unanswered = new Set<ServerResponse>();
  const server = createLimitedServer((request, response) => {
    unanswered.add(response);
    response.once('close', () => unanswered.delete(response));
    if (stopping.signal.aborted) partWith(response);
    route(request, response, () => answerUnroutable(response, options.newId));
  });
  answerUnreadable(server, options.newId);
  // The first checks run before listening: they open the connections, which takes long while a process starts.
  await Promise.all([isStoring(), findAwayQueues()]);
  server.listen({ port: options.port, backlog: LISTEN_BACKLOG, ...(options.host !== null && { host: options.host }) });
  await once(server, 'listening');
  bulkJobs.start();
  const address = server.address();
  const pingAvailability = publishPingAvailability({ database, log, now: Date.now, unstored: unstoredPings });
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    async stop(graceMs) {
      stopping.abort();
      unanswered.forEach(partWith);
      await delay(graceMs);
      await pingAvailability.stop(async () => {
        await bulkJobs.stop();
        await closeServer(server).finally(senders.close);
      });
    },
  };
}

/** Opens the senders of test messages and confirmations; `close` them when the last request is over. */
function openSenders({ telegram, slack, mail: settings, config, log }: ServeOptions) {
  const { allowPrivateNetwork } = config;
  const deadlineMs = config.webhookTimeoutSeconds * 1000;
  const webhook = openWebhookSending({ allowPrivateNetwork, deadlineMs });
  const slackSending = openSlackSending({ allowPrivateNetwork, apiUrl: slack.apiUrl, deadlineMs });
  const onTrouble = (trouble: string, reason: string) => log.warn({ trouble, error: reason }, 'mail_server.failed');
  const mail = settings && openMailSending({ settings, onTrouble });
  return {
    webhook,
    slack: slackSending,
    sendSlack: (webhookUrl: string, message: ChatMessage) => attemptSlack(webhookUrl, message, slackSending),
    sendTelegram: openTelegramSending(telegram, deadlineMs),
    sendEmail: mail && mail.send,
    async close() {
      mail?.close();
      await webhook.close();
    },
  };
}

/**
 * Makes the response the last of its connection. Closing between two requests would be too late: a client about to send
 * its next one would find the connection closed.
 */
function partWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

/** Opens the sign-in provider; its packages are loaded only if one is configured. */
async function openProvider(settings: OpenIdSettings, logger: Logger): Promise<OpenIdProvider> {
  const { OpenIdProvider } = await import('./accounts/open-id/provider.ts');
  return new OpenIdProvider(settings, { logger, now: Date.now });
}

/**
 * Returns the Slack app, or null if it is incomplete: its links would work, but the returned codes could not be
 * exchanged.
 */
function slackAppOf({ clientId, clientSecret }: ServeOptions['slack'], publicUrl: string): SlackApp | null {
  return clientId === null || clientSecret === null
    ? null
    : { clientId, clientSecret, returnUrl: returnUrl(publicUrl) };
}

/** Time that a request waits for PostgreSQL before it gets 503, in milliseconds. */
const QUERY_TIMEOUT_MS = 8000;

/**
 * Opens connections for requests only, which wait neither behind the workers' statements nor for longer than callers
 * do.
 */
export function openApiDatabase(options: Omit<DatabaseOptions, 'queryTimeoutMs'>): Database {
  return openDatabase({ ...options, queryTimeoutMs: QUERY_TIMEOUT_MS });
}
