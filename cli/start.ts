import { Registry } from 'prom-client';
import { openApiDatabase, serveApi, type RunningApi } from '../api/serve.ts';
import type { Environment } from '../config/environment.ts';
import { createLogger } from '../config/logger.ts';
import { collectProcessMetrics, countClockSteps } from '../config/process-metrics.ts';
import { loadOrCreateSecretKeys } from '../config/secret-keys.ts';
import { prepareConsole } from '../console/build/build.ts';
import { closeDatabase } from '../models/database.ts';
import { migrate } from '../models/migrate.ts';
import { CLOCKS, installServiceClock } from '../models/system/service-clock.ts';
import { recordFirstStartOver } from '../models/system/service-marks.ts';
import packageJson from '../package.json' with { type: 'json' };
import { migrateQueues } from '../queues/migrate.ts';
import { startCheck, startServiceCheck } from '../workers/processes/check.ts';
import { startClock } from '../workers/processes/clock.ts';
import { startDeliver } from '../workers/processes/deliver.ts';
import { startEvaluate } from '../workers/processes/evaluate.ts';
import {
  openRuntime,
  openTelemetry,
  showServiceMetrics,
  startProcessRecord,
  startServiceClock,
} from '../workers/processes/every-process.ts';
import { startMaintain } from '../workers/processes/maintain.ts';
import { startTelegram } from '../workers/processes/telegram.ts';
import {
  startAgentWatch,
  startHeartbeatWatch,
  startMaintenanceWatch,
  startParentWatch,
} from '../workers/processes/watches.ts';
import { stopAll, type RunningProcess, type Runtime } from '../workers/runtime.ts';
import { bootstrap, type FirstStart } from './commands/accounts.ts';
import { startEmbeddedPostgres } from './embedded-postgres/start.ts';

/** Time limit for finishing running jobs on shutdown, in milliseconds; the longest probe takes 10 s. */
const STOP_BOUND_MS = 20_000;

/** The whole service in one process; call `endFirstStart` once the credentials of the first start have been printed. */
export type RunningService = {
  url: string;
  firstStart: FirstStart | null;
  endFirstStart: () => Promise<void>;
  stop: () => Promise<void>;
};

/**
 * Starts the whole service, which is ready once the API responds. The order is: the embedded database if it is used,
 * migrations, the first start's accounts, all workers, the API. `say` receives the progress. Throws a `Refusal` with a
 * line for the operator.
 */
export async function startService(environment: Environment, say: (text: string) => void): Promise<RunningService> {
  installServiceClock();
  const closing: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const step of closing.toReversed()) await step();
  };
  const preparing = prepareConsole(say);
  try {
    const databaseUrl = environment.databaseUrl ?? (await startDatabase(environment, { say, closing }));
    await migrate(databaseUrl, say);
    await migrateQueues(databaseUrl);
    const log = createLogger({ process: 'spotcheck', level: environment.logLevel });
    const registry = new Registry();
    collectProcessMetrics(registry);
    const telemetry = await openTelemetry(environment.openTelemetry, {
      role: 'all',
      version: packageJson.version,
      registry,
      log,
    });
    const { runtime, close: closeRuntime } = openRuntime({
      databaseUrl,
      redisUrl: environment.redisUrl,
      secretKeys: environment.secretKeys ?? (await loadOrCreateSecretKeys(environment.dataDir)),
      publicUrl: environment.publicUrl,
      log,
      registry,
      recordFailedCheck: telemetry?.recordFailedCheck ?? null,
    });
    closing.push(closeRuntime);
    if (telemetry !== null) closing.push(telemetry.stop);
    showServiceMetrics(runtime, registry);
    const clock = await startServiceClock(runtime, { count: countClockSteps(registry, CLOCKS), settles: true });
    closing.push(clock.stop);
    const { bootstrapToken: token, bootstrapPassword: password, cell } = environment;
    const firstStart = await bootstrap(runtime.database, {
      newId: runtime.newId,
      nowMs: runtime.now(),
      cell,
      token,
      password,
    });
    const ignored = Object.entries({ BOOTSTRAP_TOKEN: token, BOOTSTRAP_PASSWORD: password }).flatMap(([name, value]) =>
      value === null ? [] : [name],
    );
    if (firstStart === null && ignored.length > 0) log.info({ variables: ignored }, 'bootstrap.ignored');
    const stages: Stages = { feeding: [], deciding: [], delivering: [], last: [] };
    closing.push(async () => void (await stopAll(Object.values(stages), STOP_BOUND_MS)));
    await startWorkers(runtime, environment, stages);
    stages.last.push(startProcessRecord(runtime, { kind: 'spotcheck', version: packageJson.version, registry }));
    const database = openApiDatabase({
      databaseUrl,
      secrets: runtime.database.secrets,
      onError: (error) => log.warn({ err: error }, 'database.connection_lost'),
    });
    closing.push(() => closeDatabase(database));
    await preparing;
    const api = await listen({ runtime: { ...runtime, database }, registry, environment });
    // There is no load balancer before one process, so only a configured grace is kept.
    closing.push(() => api.stop((environment.stopGraceSeconds ?? 0) * 1000));
    return {
      url: environment.port === 0 ? `http://localhost:${api.port}` : environment.publicUrl,
      firstStart,
      endFirstStart: () => recordFirstStartOver(runtime.database, runtime.now()),
      stop: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startDatabase(
  environment: Environment,
  { say, closing }: { say: (text: string) => void; closing: (() => Promise<void>)[] },
): Promise<string> {
  const postgres = await startEmbeddedPostgres({ dataDir: environment.dataDir, onProgress: say });
  closing.push(postgres.stop);
  return postgres.databaseUrl;
}

/** Running processes, in the order in which they are stopped: earlier stages feed later ones. */
type Stages = Record<'feeding' | 'deciding' | 'delivering' | 'last', RunningProcess[]>;

/** Starts each worker, and adds it to its stage as soon as it runs. */
async function startWorkers(
  runtime: Runtime,
  environment: Environment,
  { feeding, deciding, delivering }: Stages,
): Promise<void> {
  delivering.push(startDeliver(runtime, environment));
  deciding.push(await startEvaluate(runtime));
  for (const region of environment.agentRegions)
    feeding.push(await startCheck(runtime, { ...environment, region, version: packageJson.version }));
  feeding.push(startServiceCheck(runtime, environment));
  feeding.push(
    startHeartbeatWatch(runtime),
    startAgentWatch(runtime),
    startMaintenanceWatch(runtime),
    startParentWatch(runtime),
    startTelegram(runtime, environment.telegram),
    startMaintain(runtime, environment),
    startClock(runtime),
  );
}

async function listen({
  runtime,
  registry,
  environment,
}: {
  runtime: Runtime;
  registry: Registry;
  environment: Environment;
}): Promise<RunningApi> {
  const { telegram, slack, mail, openId, port, host, openTelemetry: _sent, ...config } = environment;
  const { database, backend, queues, log, newId, recordFailedCheck } = runtime;
  return await serveApi({
    port,
    host,
    database,
    backend,
    queues,
    registry,
    log,
    newId,
    telegram,
    slack,
    mail,
    openId,
    recordFailedCheck,
    config: { ...config, telegramBotName: telegram.botName, slackClientId: slack.clientId, sendsEmail: mail !== null },
  });
}
