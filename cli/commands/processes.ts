import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ConfigurationError, withoutEmpty } from '../../config/failures.ts';
import { listenAddress, wholeNumber } from '../../config/formats.ts';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { Refusal, write } from '../output.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Long-running processes by name, with their descriptions. */
export const PROCESSES = {
  web: 'run the API, the console and the pings',
  check: 'run the probes of the region that AGENT_REGION names',
  evaluate: 'run the decisions about results',
  deliver: 'run the deliveries of alerts',
  maintain: 'run the chores and the watches of heartbeats and agents',
  clock: 'run the timer of the chores',
} as const satisfies Record<ProcessName, string>;

/** Replaces this program by a process of a fleet, with the Node options of the Procfile. */
export function runFleetProcess(name: ProcessName, env: NodeJS.ProcessEnv): never {
  return become(FLEET[name], env);
}

/** `agent run`: replaces this program by the private agent. */
export function runAgent(env: NodeJS.ProcessEnv): never {
  return become(['agent/main.ts'], env);
}

/**
 * Replaces this program by another one of this package: its process id stays, so signals of a supervisor or container
 * reach it. Throws a `Refusal` on Windows, which cannot replace a program.
 */
function become(args: readonly string[], env: NodeJS.ProcessEnv): never {
  if (process.platform === 'win32') throw new Refusal(`Start it as node ${args.join(' ')} on this system`);
  const absolute = args.map((part) => (part.includes('/') ? join(ROOT, part) : part));
  return process.execve?.(process.execPath, [process.execPath, ...absolute], env) as never;
}

/** `name` is the process whose health is read; without it, the one that responds. `ready` reads `/readyz`. */
type HealthOptions = { name?: ProcessName | 'start' | 'router'; ready?: boolean };

/** Timeout of the request, in milliseconds: load balancers and containers usually give up sooner. */
const DEADLINE_MS = 5000;

/** Addresses that reach wildcard addresses from the same machine. */
const REACHED_BY: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/**
 * `health`: prints a sentence if the process with this environment responds with 200. Throws a `Refusal` with its
 * response otherwise, or with the addresses if nothing listens.
 */
export async function checkHealth({ name, ready = false }: HealthOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const { host, port, metricsPort } = readAddress(env);
  const path = ready ? '/readyz' : '/healthz';
  const addresses = portsOf(name, { port, metricsPort }).map((number) => `http://${reach(host)}:${number}${path}`);
  for (const address of addresses) {
    const answer = await ask(address);
    if (answer === null) continue;
    if (answer.status !== 200) throw new Refusal(`Unhealthy: ${address} answered ${answer.status}: ${answer.text}`);
    write(`Healthy: ${address} answered 200\n`);
    return;
  }
  throw new Refusal(`Unhealthy: nothing answers at ${addresses.join(' or ')}`);
}

/**
 * Reads these three variables without the whole configuration, which takes longer than the rest: supervisors call this
 * every 30 s.
 */
function readAddress(env: NodeJS.ProcessEnv): { host: string | null; port: number; metricsPort: number | null } {
  const { HOST, PORT, METRICS_PORT } = withoutEmpty(env);
  const readPort = (name: string, text: string) => {
    const port = wholeNumber(0, 65_535)(text);
    if (port === null) throw new ConfigurationError([{ name, expected: 'a port from 0 to 65535', received: text }]);
    return port;
  };
  return {
    host: HOST === undefined ? null : listenAddress(HOST),
    port: PORT === undefined ? 3000 : readPort('PORT', PORT),
    metricsPort: METRICS_PORT === undefined ? null : readPort('METRICS_PORT', METRICS_PORT),
  };
}

/** Returns the ports of a process: the API and the router listen on `PORT`, workers on `METRICS_PORT`. */
function portsOf(
  name: HealthOptions['name'],
  { port, metricsPort }: { port: number; metricsPort: number | null },
): readonly number[] {
  if (name === undefined) return metricsPort === null ? [port] : [port, metricsPort];
  if (name === 'web' || name === 'start' || name === 'router') return [port];
  if (metricsPort === null) throw new Refusal(`Set METRICS_PORT: ${name} serves its health on that port`);
  return [metricsPort];
}

function reach(host: string | null): string {
  if (host === null) return '127.0.0.1';
  return REACHED_BY[host] ?? (host.includes(':') ? `[${host}]` : host);
}

/** Requests an address; null if nothing listens there, or it did not respond in time. */
async function ask(address: string): Promise<{ status: number; text: string } | null> {
  try {
    // `fetch` refuses some ports, such as 6000 and 10080, on which a process may listen.
    const request = get(address, { agent: false, signal: AbortSignal.timeout(DEADLINE_MS) });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: (await readText(response)).slice(0, 500) };
  } catch {
    return null;
  }
}
