import '../config/thread-pool.ts';
import { Registry } from 'prom-client';
import { readFleetEnvironment } from '../config/environment.ts';
import { describeFailure, refuseToListen } from '../config/failures.ts';
import { createLogger } from '../config/logger.ts';
import { collectProcessMetrics, countClockSteps } from '../config/process-metrics.ts';
import { listCheckRegions } from '../models/agents/shared-agents.ts';
import { closeDatabase } from '../models/database.ts';
import { requireSchema } from '../models/migrate.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { createSecretBox } from '../models/secrets/secret-box.ts';
import { recordProcess } from '../models/system/processes.ts';
import { CLOCKS, installServiceClock, runServiceClock } from '../models/system/service-clock.ts';
import packageJson from '../package.json' with { type: 'json' };
import { openQueueBackend } from '../queues/connection.ts';
import { JobQueues } from '../queues/job-queues.ts';
import { registerQueueMetrics } from '../queues/metrics.ts';
import { openApiDatabase, serveApi } from './serve.ts';

/**
 * Time for load balancers, which check every few seconds, to notice the shutdown. A process supervisor kills the
 * process 30 s after the signal, and running requests have 10 of those.
 */
const STOP_GRACE_SECONDS = 5;

/** The Procfile's `web`: the API alone, with the PostgreSQL of `DATABASE_URL`. */
async function main(): Promise<void> {
  installServiceClock();
  const environment = readFleetEnvironment(process.env);
  const { databaseUrl, secretKeys } = environment;
  const log = createLogger({ process: 'web', level: environment.logLevel });
  const registry = new Registry();
  collectProcessMetrics(registry);
  const database = openApiDatabase({
    databaseUrl,
    secrets: createSecretBox(secretKeys),
    poolSize: 15,
    onError: (error) => log.warn({ err: error }, 'database.connection_lost'),
  });
  await requireSchema(database);
  const countStep = countClockSteps(registry, CLOCKS);
  const clock = await runServiceClock(database, {
    settles: false,
    onStep(whose, byMs) {
      countStep(whose);
      log.warn({ clock: whose, by_ms: byMs }, 'clock.stepped');
    },
    onFailure: (error) => log.warn({ err: error }, 'clock.not_compared'),
  });
  const backend = openQueueBackend({
    databaseUrl,
    redisUrl: environment.redisUrl,
    onError: (error) => log.warn({ err: error }, 'queue.error'),
  });
  const queues = new JobQueues(backend);
  registerQueueMetrics(registry, queues, () => listCheckRegions(database));
  const { telegram, slack, mail, openId, openTelemetry: settings, ...config } = environment;
  // The telemetry package is loaded only if it is used.
  const telemetry =
    settings === null
      ? null
      : (await import('../telemetry/start.ts')).startTelemetry({
          settings,
          role: 'web',
          version: packageJson.version,
          registry,
          log,
        });
  const api = await serveApi({
    port: environment.port,
    host: environment.host,
    database,
    backend,
    queues,
    registry,
    log,
    newId: createIdSource(),
    telegram,
    slack,
    mail,
    openId,
    recordFailedCheck: telemetry?.recordFailedCheck ?? null,
    config: { ...config, telegramBotName: telegram.botName, slackClientId: slack.clientId, sendsEmail: mail !== null },
  }).catch((error) => refuseToListen(error, { variable: 'PORT', ...environment }));
  const processRecord = recordProcess(database, {
    kind: 'web',
    version: packageJson.version,
    readFigures: null,
    onFailure: (error) => log.warn({ err: error }, 'process.not_recorded'),
  });
  log.info({ port: api.port }, 'process.started');
  const stop = async (signal: string) => {
    log.info({ signal }, 'process.stopping');
    await api.stop((environment.stopGraceSeconds ?? STOP_GRACE_SECONDS) * 1000);
    await telemetry?.stop();
    await processRecord.stop();
    await clock.stop();
    await queues.close();
    await backend.close();
    await closeDatabase(database);
    log.info({ outcome: 'clean' }, 'process.stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exit(1);
}
