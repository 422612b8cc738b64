import { collectDefaultMetrics, Registry } from 'prom-client';
import { readEnvironment } from '../config/environment.ts';
import { describeFailure } from '../config/failure-text.ts';
import { createLogger } from '../config/logger.ts';
import { ConfigurationError } from '../config/variables.ts';
import { closeDatabase, openDatabase } from '../models/database.ts';
import { createIdSource } from '../models/ids.ts';
import { createSecretBox } from '../models/secret-box.ts';
import { openQueueBackend } from '../queues/connection.ts';
import { openJobQueues } from '../queues/job-queues.ts';
import { registerQueueMetrics } from '../queues/metrics.ts';
import { serveApi } from './serve.ts';

/** The Procfile's `web`: the API alone, on PostgreSQL of `DATABASE_URL`. */
async function main(): Promise<void> {
  const environment = readEnvironment(process.env);
  const { databaseUrl, secretKeys } = environment;
  if (databaseUrl === null || secretKeys === null) {
    throw new ConfigurationError([{ name: 'DATABASE_URL', expected: 'a PostgreSQL server; only npm start runs on the embedded one', received: null }]);
  }
  const log = createLogger({ process: 'web', level: environment.logLevel });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const database = openDatabase({
    databaseUrl,
    secrets: createSecretBox(secretKeys),
    poolSize: 10,
    onError: (error) => log.warn({ err: error }, 'database.connection_lost'),
  });
  const backend = openQueueBackend({ databaseUrl, redisUrls: environment.redisUrl?.split(',') ?? [], onError: (error) => log.warn({ err: error }, 'queue.error') });
  const queues = openJobQueues(backend);
  registerQueueMetrics(registry, queues);
  const { telegram, slack, ...config } = environment;
  const api = await serveApi({
    port: environment.port,
    database,
    backend,
    queues,
    registry,
    log,
    newId: createIdSource(),
    config: { ...config, telegramBotName: telegram.botName, slackClientId: slack.clientId },
  });
  log.info({ port: api.port }, 'process.started');
  const stop = async (signal: string) => {
    log.info({ signal }, 'process.stopping');
    await api.stop();
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
