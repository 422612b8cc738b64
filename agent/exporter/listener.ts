import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { dump } from 'js-yaml';
import type { Logger } from 'pino';
import type { ProbeEnvironment } from '../../config/agent-environment.ts';
import { describePortFailure } from '../../config/failures.ts';
import { quote } from '../../core/foreign-text.ts';
import { countCharacters } from '../../core/input.ts';
import { EXPOSITION_TYPE } from '../../core/statistics/prometheus-metrics.ts';
import { within } from '../../core/time.ts';
import { LookupsBusy } from '../../net/failure.ts';
import { startDeadline } from '../../net/timeline.ts';
import { Exporter, type ProbeOutcome } from './exporter.ts';
import type { Fields } from './fields.ts';
import { InvalidModules, readModules, type Module } from './modules.ts';

export type ListenerOptions = {
  host: string;
  port: number;
  modules: ReadonlyMap<string, Module>;
  allowPrivateNetwork: boolean;
  /** The bearer token that requests must carry; null for none. */
  token: string | null;
  /** Maximum simultaneous probes; more are refused. */
  concurrency: number;
  log: Logger;
};

/** As in blackbox_exporter, the default timeout of a scrape, and how much earlier the response comes. */
const DEFAULT_TIMEOUT_SECONDS = 120;
const TIMEOUT_OFFSET_SECONDS = 0.5;
const DEFAULT_MODULE = 'http_2xx';

/** Time limit for a request, which has no body, to arrive, in milliseconds. */
const REQUEST_WITHIN_MS = 10_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_TARGET_CHARACTERS = 2048;
/** Connections per simultaneous probe: Prometheus keeps them open between scrapes. */
const CONNECTIONS_A_PROBE = 20;

/** A refused request: the status and the sentence of its response. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Serves `GET /probe?target=&module=` as blackbox_exporter does. */
export class ProbeListener {
  readonly #options: ListenerOptions;
  readonly #exporter: Exporter;
  readonly #server: Server;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#exporter = new Exporter({ allowPrivateNetwork: options.allowPrivateNetwork });
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: REQUEST_WITHIN_MS, requestTimeout: REQUEST_WITHIN_MS },
      (request, response) => this.#receive(request, response),
    );
    this.#server.maxConnections = options.concurrency * CONNECTIONS_A_PROBE;
  }

  /** Listens, and returns the port. Rejects if it cannot listen on the address. */
  async start(): Promise<number> {
    const { host, port } = this.#options;
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /** Accepts no more requests, lets probes end within `withinMs` milliseconds, and aborts the others. */
  async stop(withinMs: number): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    await within(withinMs, Promise.all(this.#underWay), null);
    this.#stopping.abort();
    this.#server.closeAllConnections();
    await closed;
    await this.#exporter.close();
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const answering = this.#answer(request, response).catch((error: unknown) => {
      const refusal = error instanceof LookupsBusy ? new Refusal(503, error.message) : error;
      const isRefusal = refusal instanceof Refusal;
      if (!isRefusal) this.#options.log.error({ err: error }, 'probe.crashed');
      const status = isRefusal ? refusal.status : 500;
      send(response, { status, text: isRefusal ? refusal.message : 'The probe failed by an internal error' });
    });
    this.#underWay.add(answering);
    void answering.finally(() => this.#underWay.delete(answering));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '', 'http://localhost');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      throw new Refusal(405, 'Use GET');
    }
    if (url?.pathname === '/-/healthy') return send(response, { status: 200, text: 'Healthy' });
    if (url?.pathname !== '/probe') throw new Refusal(404, 'Not found: use /probe?target=...&module=...');
    if (!this.#isAdmitted(request)) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      throw new Refusal(401, 'Send the token of PROBE_TOKEN as Authorization: Bearer ...');
    }
    const { searchParams } = url;
    const module = this.#module(searchParams.get('module') || DEFAULT_MODULE);
    const timeoutMs = timeoutOf(request, module);
    const target = searchParams.get('target') ?? '';
    const hostname = searchParams.get('hostname') || null;
    if (target === '') throw new Refusal(400, 'Target parameter is missing');
    if (countCharacters(target) > MAX_TARGET_CHARACTERS)
      throw new Refusal(400, `target must have at most ${MAX_TARGET_CHARACTERS} characters`);
    refuseHostname(module, hostname);
    const { concurrency } = this.#options;
    if (this.#underWay.size >= concurrency)
      throw new Refusal(503, `${concurrency} probes are under way: raise AGENT_CONCURRENCY, or scrape less often`);
    const { signal, callOff } = this.#limit(response, timeoutMs);
    try {
      const outcome = await this.#exporter.probe({ module, target, hostname, timeoutMs, signal });
      // A URL may contain a password.
      const shown = target.replace(/^([a-z]+:\/\/)?[^/?#]*@/i, '$1').replace(/\?.*$/s, '');
      this.#options.log.debug({ module: module.name, target: shown, success: outcome.isSuccess }, 'probe.completed');
      if (searchParams.get('debug') === 'true') send(response, { status: 200, text: debugText(module, outcome) });
      else send(response, { status: 200, text: outcome.metrics, type: EXPOSITION_TYPE });
    } finally {
      callOff();
    }
  }

  #isAdmitted({ headers: { authorization = '' } }: IncomingMessage): boolean {
    const { token } = this.#options;
    if (token === null) return true;
    const [given, expected] = [authorization, `Bearer ${token}`].map((text) => hash('sha256', text, 'buffer'));
    return given !== undefined && expected !== undefined && timingSafeEqual(given, expected);
  }

  #module(name: string): Module {
    const module = this.#options.modules.get(name);
    if (module === undefined) throw new Refusal(400, `Unknown module ${quote(name)}`);
    const { probe } = module;
    if (probe.prober === 'unsupported')
      throw new Refusal(400, `The agent does not support the prober ${probe.name} of module ${quote(name)}`);
    return module;
  }

  /** Ends a probe at its deadline, when its client goes away, or when the agent stops. */
  #limit(response: ServerResponse, timeoutMs: number): { signal: AbortSignal; callOff: () => void } {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    const callOffDeadline = startDeadline(timeoutMs, abort);
    response.once('close', abort);
    this.#stopping.signal.addEventListener('abort', abort, { once: true });
    const callOff = (): void => {
      callOffDeadline();
      response.off('close', abort);
      this.#stopping.signal.removeEventListener('abort', abort);
      // A probe's work ends with it, even if it failed before a response was complete.
      abort();
    };
    return { signal: controller.signal, callOff };
  }
}

/** Returns the scrape's timeout less the offset, or the module's if that is shorter; in milliseconds. */
function timeoutOf({ headers }: IncomingMessage, { timeoutMs }: Module): number {
  const given = headers['x-prometheus-scrape-timeout-seconds'];
  const stated = given === undefined || given === '' ? 0 : Number(given);
  if (!(stated >= 0 && stated <= MAX_TIMEOUT_SECONDS))
    throw new Refusal(400, 'X-Prometheus-Scrape-Timeout-Seconds must be a number of seconds up to an hour');
  const mostMs = ((stated === 0 ? DEFAULT_TIMEOUT_SECONDS : stated) - TIMEOUT_OFFSET_SECONDS) * 1000;
  return (timeoutMs > 0 && timeoutMs < mostMs) || mostMs < 0 ? timeoutMs : mostMs;
}

const MAX_TIMEOUT_SECONDS = 3600;

function refuseHostname({ probe }: Module, hostname: string | null): void {
  if (hostname === null) return;
  if (!/^[\w.:[\]-]{1,255}$/.test(hostname)) throw new Refusal(400, 'hostname must be the name of a host');
  const configured = probe.prober === 'http' ? probe.settings.hostHeader : null;
  if (configured !== null && configured !== hostname)
    throw new Refusal(400, `The module has the Host header ${configured} already: leave hostname out`);
}

type Answer = { status: number; text: string; type?: string };

function send(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8' }: Answer): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    'Content-Type': type,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

function debugText({ written }: Module, { metrics, log }: ProbeOutcome): string {
  return [
    'Logs for the probe:',
    ...log,
    '\n\n\nMetrics that would have been returned:',
    metrics,
    '\n\n\nModule configuration:',
    dump(withoutSecrets(written)),
  ].join('\n');
}

const SECRET = /^(?:password|credentials|bearer_token|key|body|authorization|send)$/i;

/** Returns a module as written, except for values that may be secrets. */
function withoutSecrets(value: unknown, parent = ''): unknown {
  if (Array.isArray(value)) return value.map((inner) => withoutSecrets(inner));
  if (typeof value !== 'object' || value === null) return value;
  const isHeader = parent === 'headers';
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      // The option `authorization` is a mapping that contains its secret. A header of any name may carry a key.
      (isHeader || SECRET.test(name)) && typeof inner !== 'object' ? '<secret>' : withoutSecrets(inner, name),
    ]),
  );
}

type ProbeStart = ProbeEnvironment & { allowPrivateNetwork: boolean; concurrency: number; log: Logger };

/** Maximum bytes of a file of modules, and of each file that it names. */
const MAX_FILE_BYTES = 1024 * 1024;

/** Maximum wait for running probes on shutdown, in milliseconds, as for the agent's checks. */
const PROBES_END_WITHIN_MS = 12_000;

/**
 * Starts serving `/probe` and returns the function that stops it. Throws with the problems of the module file, or of
 * the address.
 */
export async function startProbe(start: ProbeStart): Promise<() => Promise<void>> {
  const { listen, configFile, log } = start;
  const modules = loadModules(configFile);
  for (const { name, probe } of modules.values())
    if (probe.prober === 'unsupported') log.warn({ module: name, prober: probe.name }, 'probe.module_unsupported');
  const listener = new ProbeListener({ ...start, ...listen, modules });
  try {
    await listener.start();
  } catch (error) {
    const { host, port } = listen;
    throw new Error(describePortFailure(error, { variable: 'PROBE_LISTEN', port, host }), { cause: error });
  }
  if (start.token === null && !/^(?:localhost|127\..*|::1)$/.test(listen.host))
    log.warn({ listen: `${listen.host}:${listen.port}` }, 'probe.open');
  log.info({ listen: `${listen.host}:${listen.port}`, modules: modules.size }, 'probe.listening');
  return () => listener.stop(PROBES_END_WITHIN_MS);
}

function loadModules(path: string): ReadonlyMap<string, Module> {
  try {
    return readModules(readText(path), readNamed);
  } catch (error) {
    throw new Error(`Invalid PROBE_CONFIG ${path}:\n${describe(error)}`, { cause: error });
  }
}

function describe(error: unknown): string {
  if (error instanceof InvalidModules || error instanceof UnreadableFile) return error.message;
  throw error;
}

class UnreadableFile extends Error {
  override name = 'UnreadableFile';
}

/** Reads the file that a key names. */
function readNamed(fields: Fields, name: string): string | null {
  const path = fields.text(name);
  if (path === null || path === '') return null;
  try {
    return readText(path);
  } catch (error) {
    fields.problem(name, `cannot be read: ${error instanceof Error ? error.message.trim() : String(error)}`);
    return null;
  }
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > MAX_FILE_BYTES) throw new UnreadableFile(`  more than ${MAX_FILE_BYTES} bytes`);
    return bytes.toString();
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    throw new UnreadableFile(`  ${error instanceof Error ? error.message : String(error)}`);
  }
}
