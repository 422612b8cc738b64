import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { ProbeEnvironment } from '../../config/agent-environment.ts';
import { describePortFailure } from '../../config/failures.ts';
import type { Fields } from './fields.ts';
import { ProbeListener } from './listener.ts';
import { InvalidModules, readModules, type Module } from './modules.ts';

type ProbeStart = ProbeEnvironment & { allowPrivateNetwork: boolean; concurrency: number; log: Logger };

/** A file of modules, and each file that it names, has at most this many bytes. */
const MOST_FILE_BYTES = 1024 * 1024;

/** As long as the checks of the agent have at a stop, in milliseconds. */
const PROBES_END_WITHIN_MS = 12_000;

/**
 * Begins to answer `/probe` and returns how to end that. Throws with what is wrong with the file of modules, or with
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
    if (bytes.length > MOST_FILE_BYTES) throw new UnreadableFile(`  more than ${MOST_FILE_BYTES} bytes`);
    return bytes.toString();
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    throw new UnreadableFile(`  ${error instanceof Error ? error.message : String(error)}`);
  }
}
