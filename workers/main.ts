import '../config/thread-pool.ts';
import { Registry } from 'prom-client';
import { readFleetEnvironment, type Environment } from '../config/environment.ts';
import { describeFailure, refuseToListen } from '../config/failures.ts';
import { createLogger } from '../config/logger.ts';
import { collectProcessMetrics, countClockSteps } from '../config/process-metrics.ts';
import type { WorkerName } from '../config/processes.ts';
import { requireSchema } from '../models/migrate.ts';
import { CLOCKS, installServiceClock } from '../models/system/service-clock.ts';
import packageJson from '../package.json' with { type: 'json' };
import {
  openRuntime,
  openTelemetry,
  showServiceMetrics,
  startProcessRecord,
  startServiceClock,
} from './processes/every-process.ts';
import { stopAll, type RunningProcess, type Runtime } from './runtime.ts';
import { serveMetrics } from './system/metrics-server.ts';

/** Time limit for finishing running jobs on shutdown, in milliseconds; the longest probe takes 10 s. */
const STOP_BOUND_MS = 25_000;

/** Starts the parts of a process, and loads their modules, so that no process loads another's. */
type Start = (runtime: Runtime, environment: Environment) => Promise<RunningProcess[]>;

/** Worker processes of a fleet by name. */
const PROCESSES: Readonly<Record<WorkerName, Start>> = {
  check: async (runtime, environment) => {
    const { startCheck, startServiceCheck } = await import('./processes/check.ts');
    const region = environment.agentRegion ?? '';
    return [
      await startCheck(runtime, { ...environment, region, version: packageJson.version }),
      startServiceCheck(runtime, environment),
    ];
  },
  evaluate: async (runtime) => {
    const { startEvaluate } = await import('./processes/evaluate.ts');
    return [await startEvaluate(runtime)];
  },
  deliver: async (runtime, environment) => {
    const { startDeliver } = await import('./processes/deliver.ts');
    return [startDeliver(runtime, environment)];
  },
  maintain: async (runtime, environment) => {
    const [{ startMaintain }, watches, { startTelegram }] = await Promise.all([
      import('./processes/maintain.ts'),
      import('./processes/watches.ts'),
      import('./processes/telegram.ts'),
    ]);
    return [
      startMaintain(runtime, environment),
      watches.startHeartbeatWatch(runtime),
      watches.startAgentWatch(runtime),
      watches.startMaintenanceWatch(runtime),
      watches.startParentWatch(runtime),
      startTelegram(runtime, environment.telegram),
    ];
  },
  clock: async (runtime) => {
    const { startClock } = await import('./processes/clock.ts');
    return [startClock(runtime)];
  },
};

async function main(name: string): Promise<void> {
  if (!isWorker(name)) {
    process.stderr.write(`Unknown worker "${name}": use one of ${Object.keys(PROCESSES).join(', ')}\n`);
    process.exit(2);
  }
  installServiceClock();
  const environment = readFleetEnvironment(process.env, name === 'check' ? ['AGENT_REGION'] : []);
  const registry = new Registry();
  collectProcessMetrics(registry);
  const log = createLogger({ process: name, level: environment.logLevel });
  const telemetry = await openTelemetry(environment.openTelemetry, {
    role: name,
    region: name === 'check' ? environment.agentRegion : null,
    version: packageJson.version,
    registry,
    log,
  });
  const { runtime, close } = openRuntime({
    databaseUrl: environment.databaseUrl,
    redisUrl: environment.redisUrl,
    secretKeys: environment.secretKeys,
    publicUrl: environment.publicUrl,
    log,
    registry,
    recordFailedCheck: telemetry?.recordFailedCheck ?? null,
  });
  // This comes before any queue is opened: BullMQ remembers a refused first connection, and its worker would retry
  // without a pause.
  await requireSchema(runtime.database);
  if (name === 'maintain') showServiceMetrics(runtime, registry);
  const clock = await startServiceClock(runtime, {
    count: countClockSteps(registry, CLOCKS),
    settles: name === 'maintain',
  });
  const working = await PROCESSES[name](runtime, environment);
  const running: RunningProcess[] = [clock];
  running.push(
    startProcessRecord(runtime, {
      kind: name === 'check' ? `check ${environment.agentRegion ?? ''}` : name,
      version: packageJson.version,
      registry,
    }),
  );
  const stopping = new AbortController();
  const { metricsPort, host } = environment;
  if (metricsPort !== null)
    running.push(
      await serveMetrics(runtime, { registry, port: metricsPort, host, stopping: stopping.signal }).catch((error) =>
        refuseToListen(error, { variable: 'METRICS_PORT', port: metricsPort, host }),
      ),
    );
  if (telemetry !== null) running.push(telemetry);
  log.info({}, 'process.started');
  const stop = async (signal: string) => {
    log.info({ signal }, 'process.stopping');
    stopping.abort();
    const clean = await stopAll([working, running], STOP_BOUND_MS);
    if (clean) await close();
    log.info({ outcome: clean ? 'clean' : 'cut short' }, 'process.stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
}

function isWorker(name: string): name is WorkerName {
  return Object.hasOwn(PROCESSES, name);
}

try {
  await main(process.argv[2] ?? '');
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exit(1);
}
