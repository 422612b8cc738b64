import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { SharedCalls } from '../core/shared-calls.ts';
import { CANARY_PATH } from '../core/system/canary.ts';
import { keepAccountChecks } from '../models/monitors/monitor-overview.ts';
import { isTimeSettled } from '../models/system/service-clock.ts';
import { EMAIL_CONFIRM_PATH, EMAIL_UNSUBSCRIBE_PATH } from '../notifications/email/links.ts';
import { SLACK_RETURN_PATH } from '../notifications/slack/authorization.ts';
import { TELEGRAM_PATH } from '../notifications/telegram/update.ts';
import { OPEN_ID_LOGOUT_PATH, openIdLogoutHandler, openIdReturnHandler } from './accounts/open-id/sign-in.ts';
import { OPEN_ID_RETURN_PATH } from './accounts/open-id/visit.ts';
import { createShutAccountRecorder, createThrottle, type Throttle } from './accounts/session/throttle.ts';
import { AGENT_PATH, createAgentRouter } from './agents/protocol/routes.ts';
import { createTelegramRouter, slackReturnHandler } from './alerts/chats.ts';
import { confirmEmailHandler, unsubscribeHandler } from './alerts/email.ts';
import { clientAddress } from './client-address.ts';
import { BASE_PATH, getDescriptionHandler, publishDescription, readDescription } from './description.ts';
import type { ApiDependencies, Parts } from './handler.ts';
import { PING_PATH, pingHandler } from './heartbeats/pings.ts';
import { LiveStreams } from './live/live.ts';
import { createAnswerSlots, limitAccountConcurrency } from './middleware/account-concurrency.ts';
import { authentication } from './middleware/authentication.ts';
import { errorResponse, onlyGet, unknownRoute } from './middleware/error-response.ts';
import { rateLimit } from './middleware/limits.ts';
import { cutBasePath, headAsGet, requestForm } from './middleware/request-form.ts';
import { assignRequestId, requestLog } from './middleware/request-log.ts';
import { BulkJobs } from './monitors/bulk-jobs.ts';
import { BulkSteps } from './monitors/bulk-steps.ts';
import { createRateLimits } from './rate-limits.ts';
import { createRouter } from './router.ts';
import { PEER_PATH, createPeerRouter, getCanaryHandler } from './system/watching.ts';

/**
 * Makes the HTTP application; the caller makes it listen and starts its bulk jobs. `mount` may add routes (queue board,
 * console), which share the throttle of failed sign-ins, before unknown paths get 404.
 */
export async function createApp(
  dependencies: ApiDependencies,
  mount: (app: Express, shared: { throttle: Throttle }) => void = () => undefined,
): Promise<{ app: Express; bulkJobs: BulkJobs }> {
  const description = await readDescription();
  const app = express();
  app.disable('x-powered-by');
  // Paths match exactly as described: proxies in front may restrict them by their spelling.
  app.enable('case sensitive routing').enable('strict routing');
  app.use(
    cutBasePath(dependencies.config.publicUrl),
    assignRequestId(dependencies),
    clientAddress(dependencies.config),
    requestLog(dependencies),
    helmet(),
    requestForm,
  );

  const getDescription = getDescriptionHandler(publishDescription(description, dependencies.config.publicUrl));
  const open = {
    '/healthz': getHealth,
    '/readyz': getReadinessHandler(dependencies),
    '/metrics': getMetricsHandler(dependencies),
    [CANARY_PATH]: getCanaryHandler(dependencies),
    '/openapi.json': getDescription,
    [`${BASE_PATH}/openapi.json`]: getDescription,
  };
  for (const [path, handler] of Object.entries(open)) app.route(path).get(handler).all(onlyGet);
  const limited = { ...dependencies, rateLimits: createRateLimits(dependencies.rateLimitStore) };
  app.use(PING_PATH, pingHandler(limited));
  app.all(SLACK_RETURN_PATH, slackReturnHandler(limited));
  app.all(OPEN_ID_RETURN_PATH, openIdReturnHandler(limited));
  app.all(OPEN_ID_LOGOUT_PATH, openIdLogoutHandler(limited));
  app.all(EMAIL_CONFIRM_PATH, confirmEmailHandler(limited));
  app.all(EMAIL_UNSUBSCRIBE_PATH, unsubscribeHandler(dependencies));
  app.use(PEER_PATH, createPeerRouter(limited));
  app.use(TELEGRAM_PATH, createTelegramRouter(dependencies));
  // The API and the agents share one limit, because both belong to the account.
  const concurrency = limitAccountConcurrency(({ caller, agent }) => caller?.tenantId ?? agent?.tenantId);
  const takeAnswerSlot = createAnswerSlots();
  app.use(AGENT_PATH, createAgentRouter({ ...limited, takeAnswerSlot }, concurrency));

  const {
    database,
    rateLimitStore: store,
    config: { publicUrl },
  } = dependencies;
  const throttle = createThrottle({ database, store, publicUrl }, createShutAccountRecorder(dependencies));
  const bulkJobs = new BulkJobs(dependencies, new BulkSteps(limited));
  const authenticate = authentication(dependencies);
  app.use(
    BASE_PATH,
    keepPrivate,
    headAsGet,
    authenticate,
    rateLimit(store),
    createRouter(
      description,
      {
        ...limited,
        throttle,
        live: new LiveStreams(dependencies),
        takeAnswerSlot,
        bulkChanges: bulkJobs,
        accountChecks: keepAccountChecks(dependencies),
      },
      { concurrency, authenticate },
    ),
  );

  mount(app, { throttle });
  app.use(unknownRoute);
  app.use(errorResponse(dependencies));
  return { app, bulkJobs };
}

/** Responses belong to their caller, so no cache may store them for others. Handlers may override this. */
const keepPrivate: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'private, no-cache');
  next();
};

/** `GET /healthz`: succeeds while the process runs. */
const getHealth: RequestHandler = (_request, response) => {
  response.json({ status: 'ok' });
};

/**
 * `GET /readyz`: 200 while the database and all queues accept writes, otherwise 503 with those that do not. It also
 * responds 503 once the process is to stop. `clock` is present while the service keeps its own time because
 * PostgreSQL's clock was set: everything works, but an operator should check it.
 */
function getReadinessHandler({
  isStoring,
  findAwayQueues,
  stopping,
}: Parts<'isStoring' | 'findAwayQueues' | 'stopping'>): RequestHandler {
  return async (_request, response) => {
    const [isDatabaseThere, away] = await Promise.all([isStoring(), findAwayQueues()]);
    const isQueueThere = away.length === 0;
    const isReady = isDatabaseThere && isQueueThere && !stopping.aborted;
    const status = stopping.aborted ? 'stopping' : isReady ? 'ready' : 'not ready';
    const details = { ...(!isQueueThere && { queues_away: away }), ...(!isTimeSettled() && { clock: 'set' }) };
    response.status(isReady ? 200 : 503).json({ status, database: isDatabaseThere, queue: isQueueThere, ...details });
  };
}

/** `GET /metrics`: Prometheus text; concurrent scrapes share one rendering. */
function getMetricsHandler({ metrics }: Parts<'metrics'>): RequestHandler {
  const renderings = new SharedCalls(async () => Buffer.from(await metrics.metrics()));
  return async (_request, response) => {
    response.type(metrics.contentType).send(await renderings.run());
  };
}
