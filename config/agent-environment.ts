import { ConfigurationError, withoutEmpty, type Problem } from './failures.ts';
import {
  flag,
  hostAndPort,
  listenAddressAndPort,
  listOf,
  oneLine,
  urlOf,
  wholeNumber,
  type HostAndPort,
  LOG_LEVELS,
  type LogLevel,
} from './formats.ts';

/** Configuration of the customer's agent. */
export type AgentEnvironment = Readonly<{
  /** Without a trailing slash. */
  serviceUrl: string;
  agentToken: string;
  dataDir: string;
  pullSeconds: number;
  /** Limits of results that wait for the service, by number and by age. */
  bufferResults: number;
  bufferHours: number;
  /** Maximum simultaneous probes. */
  concurrency: number;
  allowPrivateNetwork: boolean;
  /** Empty if there is no self-check (D-48). */
  selfCheckHosts: readonly HostAndPort[];
  logLevel: LogLevel;
  /** Null if `/probe` is off. */
  probe: ProbeEnvironment | null;
}>;

/** Address and modules of `/probe`; a null token admits every client. */
export type ProbeEnvironment = Readonly<{ listen: HostAndPort; configFile: string; token: string | null }>;

// Parsed without zod, like everything that the agent loads: zod alone takes 16 MB, more than the agent's own code
// (docs/agents.md).
type Variable<T> = {
  expected: string;
  parse: (text: string) => T | null;
  /** Absent if the variable is required. */
  fallback?: T;
  isSecret?: true;
};

/** Value of an optional variable that is not set. */
const NOT_SET = Symbol('not set');

const VARIABLES = {
  // The URL may contain a user and password, which are refused and must not be shown.
  SPOTCHECK_URL: {
    expected: 'an http:// or https:// URL without query',
    parse: urlOf('http:', 'https:'),
    isSecret: true,
  },
  SPOTCHECK_AGENT_TOKEN: {
    expected: 'spa_ and then letters, digits, - or _',
    parse: (text: string) => (/^spa_[A-Za-z0-9_-]{1,200}$/.test(text) ? text : null),
    isSecret: true,
  },
  DATA_DIR: { expected: 'one line of text', parse: oneLine, fallback: '.data' },
  AGENT_PULL_SECONDS: { expected: 'whole seconds from 1 to 60', parse: wholeNumber(1, 60), fallback: 15 },
  AGENT_BUFFER_RESULTS: {
    expected: 'a whole number from 100 to 100000',
    parse: wholeNumber(100, 100_000),
    fallback: 10_000,
  },
  AGENT_BUFFER_HOURS: { expected: 'whole hours from 1 to 24', parse: wholeNumber(1, 24), fallback: 24 },
  AGENT_CONCURRENCY: { expected: 'a whole number from 1 to 2000', parse: wholeNumber(1, 2000), fallback: 100 },
  ALLOW_PRIVATE_NETWORK: { expected: 'true or false', parse: flag, fallback: true },
  SELF_CHECK_HOSTS: { expected: 'host:port, comma-separated, each once', parse: listOf(hostAndPort), fallback: [] },
  LOG_LEVEL: {
    expected: `one of ${LOG_LEVELS.join(', ')}`,
    parse: (text: string) => LOG_LEVELS.find((level) => level === text) ?? null,
    fallback: 'info',
  },
  PROBE_LISTEN: {
    expected: 'an address of this machine and a port, such as 127.0.0.1:9115',
    parse: listenAddressAndPort,
    fallback: NOT_SET,
  },
  PROBE_CONFIG: { expected: 'the path of a blackbox.yml', parse: oneLine, fallback: NOT_SET },
  PROBE_TOKEN: {
    expected: '16 to 256 letters, digits and -._~+/=',
    parse: (text: string) => (/^[\w\-.~+/=]{16,256}$/.test(text) ? text : null),
    fallback: NOT_SET,
    isSecret: true,
  },
} as const satisfies Record<string, Variable<unknown>>;

/** Reads the agent's configuration from an environment; throws a `ConfigurationError` that lists every problem. */
export function readAgentEnvironment(env: NodeJS.ProcessEnv): AgentEnvironment {
  const given = withoutEmpty(env);
  const problems: Problem[] = [];
  const read = <T>(name: keyof typeof VARIABLES, { expected, parse, fallback, isSecret }: Variable<T>): T => {
    const text = given[name];
    const value = text === undefined ? fallback : parse(text);
    if (value === undefined || value === null)
      problems.push({ name, expected, received: isSecret ? null : (text ?? null) });
    // The caller never gets a missing value: the problems are thrown before anything is returned.
    return value as T;
  };
  const readProbe = (): ProbeEnvironment | null => {
    const listen = read<HostAndPort | typeof NOT_SET>('PROBE_LISTEN', VARIABLES.PROBE_LISTEN);
    const configFile = read<string | typeof NOT_SET>('PROBE_CONFIG', VARIABLES.PROBE_CONFIG);
    const token = read<string | typeof NOT_SET>('PROBE_TOKEN', VARIABLES.PROBE_TOKEN);
    if (listen === NOT_SET || problems.some(({ name }) => name === 'PROBE_LISTEN')) return null;
    if (configFile !== NOT_SET) return { listen, configFile, token: token === NOT_SET ? null : token };
    problems.push({ name: 'PROBE_CONFIG', expected: 'the path of a blackbox.yml beside PROBE_LISTEN', received: null });
    return null;
  };
  const environment: AgentEnvironment = {
    serviceUrl: read('SPOTCHECK_URL', VARIABLES.SPOTCHECK_URL),
    agentToken: read('SPOTCHECK_AGENT_TOKEN', VARIABLES.SPOTCHECK_AGENT_TOKEN),
    dataDir: read('DATA_DIR', VARIABLES.DATA_DIR),
    pullSeconds: read<number>('AGENT_PULL_SECONDS', VARIABLES.AGENT_PULL_SECONDS),
    bufferResults: read<number>('AGENT_BUFFER_RESULTS', VARIABLES.AGENT_BUFFER_RESULTS),
    bufferHours: read<number>('AGENT_BUFFER_HOURS', VARIABLES.AGENT_BUFFER_HOURS),
    concurrency: read<number>('AGENT_CONCURRENCY', VARIABLES.AGENT_CONCURRENCY),
    allowPrivateNetwork: read<boolean>('ALLOW_PRIVATE_NETWORK', VARIABLES.ALLOW_PRIVATE_NETWORK),
    selfCheckHosts: Object.freeze(read<readonly HostAndPort[]>('SELF_CHECK_HOSTS', VARIABLES.SELF_CHECK_HOSTS)),
    logLevel: read<LogLevel>('LOG_LEVEL', VARIABLES.LOG_LEVEL),
    probe: readProbe(),
  };
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.freeze(environment);
}
