import '../config/thread-pool.ts';
import { createHash } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { join, resolve } from 'node:path';
import { readAgentEnvironment, type AgentEnvironment } from '../config/agent-environment.ts';
import { describeFailure } from '../config/failures.ts';
import type { createLogger as createLoggerType } from '../config/logger.ts';
import { awaitStopSignal } from '../config/processes.ts';
import type { startProbe as startProbeType } from './exporter/listener.ts';
import type { startAgent as startAgentType } from './program.ts';

/** The text of `--help`. */
const USAGE = `Usage: npm run agent [-- --help | --version]        (node agent/main.ts)

The private agent of Spotcheck: runs checks from this machine and reports the results to the service.

Environment:
  SPOTCHECK_URL            URL of the service, https://...                              required
  SPOTCHECK_AGENT_TOKEN    token of the agent, spa_...                                  required
  DATA_DIR                 folder for the agent's key, work and unsent results, in a    .data
                           subfolder of DATA_DIR/agents
  AGENT_PULL_SECONDS       seconds between check-ins, 1 to 60                           15
  AGENT_BUFFER_RESULTS     maximum number of unsent results, 100 to 100000              10000
  AGENT_BUFFER_HOURS       maximum age of unsent results in hours, 1 to 24              24
  AGENT_CONCURRENCY        maximum number of concurrent checks, 1 to 2000               100
  ALLOW_PRIVATE_NETWORK    false: check public addresses only                           true
  SELF_CHECK_HOSTS         host:port, comma-separated: contacted when most checks fail  not set
                           at once; if none responds, the failures do not count
  PROBE_LISTEN             address:port: answers /probe as blackbox_exporter does       not set
  PROBE_CONFIG             blackbox.yml with the modules of /probe                      not set
  PROBE_TOKEN              requests to /probe must carry it as a bearer token           not set
  LOG_LEVEL                trace, debug, info, warn, error, fatal or silent             info
  NODE_EXTRA_CA_CERTS      file of additional trusted certificate authorities

Signals:
  SIGTERM, SIGINT, SIGHUP  finishes running checks (12 s at most), sends unsent results and stops; a second signal
                           stops immediately. SIGHUP is ignored without a terminal, as under nohup

Exit status:
  0   stopped
  1   refused: invalid configuration, an agent with this token already runs here, or the service rejected the token
  2   wrong usage
  70  internal error of the agent; restart it
`;

/** Exit statuses; docs/agents.md describes their meaning for a supervisor. */
const STOPPED = 0;
const REFUSED = 1;
const WRONG_USAGE = 2;
const FAULT = 70;

/** A small young generation, code optimized for size, few helper threads: an agent has little to do at a time. */
const LEAN_FLAGS = ['--max-semi-space-size=1', '--optimize-for-size', '--v8-pool-size=1'];

/** Two heaps for all threads that look up names, instead of eight for each core; for glibc only. */
const LEAN_VARIABLES = { MALLOC_ARENA_MAX: '2' };

/** Counts the starts of one process across its replacements of itself. */
const ATTEMPT = 'SPOTCHECK_AGENT_ATTEMPT';
const MAX_ATTEMPTS = 3;

async function main(args: readonly string[]): Promise<number> {
  const [first] = args;
  if (args.length > 1 || (first !== undefined && !['--help', '-h', '--version'].includes(first))) {
    process.stderr.write(`Unknown: ${args.join(' ')}\n\n${USAGE}`);
    return WRONG_USAGE;
  }
  const { default: packageJson } = await import('../package.json', { with: { type: 'json' } });
  if (first !== undefined) {
    process.stdout.write(first === '--version' ? `${packageJson.version}\n` : USAGE);
    return STOPPED;
  }
  const environment = readAgentEnvironment(process.env);
  const folder = folderOf(resolve(environment.dataDir), environment.agentToken);
  await makeFolder(folder);
  const cache = join(folder, 'compiled');
  if (process.env[ATTEMPT] === undefined) startAnew(cache);
  // Code for /probe is loaded only if it is served.
  const [{ createLogger }, { startAgent }, probing] = await Promise.all([
    import('../config/logger.ts'),
    import('./program.ts'),
    environment.probe === null ? null : import('./exporter/listener.ts'),
  ]);
  if (hasCompiled()) startAnew(cache);
  const startProbe = probing?.startProbe ?? null;
  return await run({ environment, folder, version: packageJson.version, createLogger, startAgent, startProbe });
}

type Loaded = {
  environment: AgentEnvironment;
  folder: string;
  version: string;
  createLogger: typeof createLoggerType;
  startAgent: typeof startAgentType;
  /** Null if `/probe` is not served. */
  startProbe: typeof startProbeType | null;
};

async function run(loaded: Loaded): Promise<number> {
  const { environment, folder, version, createLogger, startAgent, startProbe } = loaded;
  const {
    serviceUrl,
    agentToken,
    allowPrivateNetwork,
    selfCheckHosts,
    logLevel,
    pullSeconds,
    bufferResults,
    bufferHours,
    concurrency,
    probe,
  } = environment;
  const log = createLogger({ process: 'agent', level: logLevel });
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'agent.crashed');
    process.exit(FAULT);
  });
  const stopRequest = awaitStopSignal(() => process.exit(REFUSED));
  if (isInClear(serviceUrl)) log.warn({}, 'service.not_encrypted');
  // A mistake in its file, or a port in use, is reported before the agent checks in.
  const stopProbe = probe === null ? null : await startProbe?.({ ...probe, allowPrivateNetwork, concurrency, log });
  const agent = await startAgent({
    serviceUrl,
    agentToken,
    folder,
    allowPrivateNetwork,
    selfCheckHosts,
    settings: { pullSeconds, bufferResults, bufferHours, concurrency, version, arch: process.arch },
    log,
  });
  log.info({ version, folder }, 'agent.started');
  const ending = await Promise.race([stopRequest, agent.refused.then(() => null)]);
  log.info({ signal: ending ?? undefined }, 'agent.stopping');
  await Promise.all([agent.stop(), stopProbe?.()]);
  log.info({}, 'agent.stopped');
  if (ending !== null) return STOPPED;
  process.stderr.write(
    'The service rejected this token (401): the token is wrong or revoked, its agent was deleted, or SPOTCHECK_URL ' +
      'is not the root URL of the service\n',
  );
  return REFUSED;
}

/**
 * Replaces the program once its code is compiled: a process that has compiled TypeScript keeps 25 MB of compiler. So
 * the first start compiles into a cache, and then the program replaces itself, under the same process id, by one that
 * only reads the cache. If that is impossible, the agent runs as it is.
 */
function startAnew(cache: string): void {
  const attempt = Number(process.env[ATTEMPT] ?? 1);
  if (attempt >= MAX_ATTEMPTS || process.execve === undefined) return;
  flushCompileCache();
  const flags = [...new Set([...LEAN_FLAGS, ...process.execArgv])];
  const env = { ...LEAN_VARIABLES, NODE_COMPILE_CACHE: cache, ...process.env, [ATTEMPT]: String(attempt + 1) };
  process.execve(process.execPath, [process.execPath, ...flags, ...process.argv.slice(1)], env);
}

/** Reports whether Node has loaded its TypeScript compiler; the list has no type. */
function hasCompiled(): boolean {
  const loaded: unknown = Reflect.get(process, 'moduleLoadList');
  return Array.isArray(loaded) && loaded.some((name) => String(name).includes('amaro'));
}

/** Reports whether the token would cross a network without TLS. */
function isInClear(serviceUrl: string): boolean {
  const { protocol, hostname } = new URL(serviceUrl);
  return protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
}

/** Reports whether a disk is full or broken, which may be fixed by the next start. */
function isDiskFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT', 'EIO'].includes(String(error.code));
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exit(isDiskFailure(error) ? FAULT : REFUSED);
}

/**
 * Returns the folder of the agent that has this token; it depends on both, so that agents of one data directory share
 * nothing.
 */
function folderOf(dataDir: string, token: string): string {
  return join(dataDir, 'agents', createHash('sha256').update(token).digest('hex').slice(0, 16));
}

/** Creates the folder, for its owner only. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}
