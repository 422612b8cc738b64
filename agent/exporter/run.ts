import { isIP, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { WORK_PER_MS, measureSearch } from '../../core/checks/judge.ts';
import { JUDGING_BUDGET_MS } from '../../core/checks/judging.ts';
import { labelValue, writeHead, writeSample } from '../../core/statistics/prometheus-metrics.ts';
import type { Guard } from '../../net/address-guard.ts';
import { resolveHost } from '../../net/host-address.ts';
import type { AddressChoice, Pattern } from './fields.ts';

/** Thrown when a probe fails: its message is a line of the `debug=true` log, without secrets. */
export class ProbeFailure extends Error {
  override name = 'ProbeFailure';
}

/** The probed address; `lookupSeconds` is the duration of its lookup. */
export type ChosenAddress = { address: string; family: 4 | 6; lookupSeconds: number };

/** Maximum lines of a log, which has one per redirect or line of a conversation; further ones add nothing. */
const MAX_LINES = 200;
const MAX_LINE_CHARACTERS = 1000;

/** Maximum work of all patterns of a probe, except the body's. */
const MAX_WORK = JUDGING_BUDGET_MS * WORK_PER_MS;

/** A running probe: its target, its deadline, and its results so far. */
export class ProbeRun {
  readonly target: string;
  readonly hostname: string | null;
  readonly guard: Guard;
  readonly gauges = new Gauges();
  /** Aborted at the deadline, when the client disconnects, and when the agent stops. */
  readonly signal: AbortSignal;
  readonly #endsAtMs: number;
  readonly #lines: string[] = [];
  #workLeft = MAX_WORK;

  constructor({ target, hostname, guard, signal, timeoutMs }: RunOptions) {
    this.target = target;
    this.hostname = hostname;
    this.guard = guard;
    this.signal = signal;
    this.#endsAtMs = performance.now() + timeoutMs;
  }

  log(line: string): void {
    if (this.#lines.length < MAX_LINES) this.#lines.push(line.slice(0, MAX_LINE_CHARACTERS));
  }

  logged(): readonly string[] {
    return this.#lines;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now());
  }

  /**
   * Chooses the address to probe as blackbox_exporter does: the first of the preferred family, else the last of the
   * other. Throws a `ProbeFailure` if there is none, or none that the guard allows.
   */
  async chooseAddress(host: string, { preferred, fallback }: AddressChoice): Promise<ChosenAddress> {
    this.gauges.declare('probe_ip_protocol', 'probe_dns_lookup_time_seconds', 'probe_ip_addr_hash');
    const startedAtMs = performance.now();
    const found = await resolveHost(host, { ...this.guard, deadlineMs: this.remainingMs(), signal: this.signal });
    const lookupSeconds = secondsSince(startedAtMs);
    this.gauges.set('probe_dns_lookup_time_seconds', lookupSeconds);
    if (found.outcome === 'failed') throw new ProbeFailure(`Resolving ${host} failed: ${found.reason}`);
    const choices = found.addresses.map(({ address }) => chosen(address));
    const wanted = choices.find(({ family }) => family === preferred) ?? (fallback ? choices.at(-1) : undefined);
    if (wanted === undefined) throw new ProbeFailure(`${host} has no address of IPv${preferred}`);
    this.log(`Resolved ${host} to ${wanted.address}`);
    this.gauges.set('probe_ip_protocol', wanted.family);
    this.gauges.set('probe_ip_addr_hash', hashOf(wanted.address));
    return { ...wanted, lookupSeconds };
  }

  /** Searches a short text. Throws a `ProbeFailure` once the patterns of this probe have taken too long together. */
  matches({ source, regex }: Pattern, text: string): boolean {
    this.takeWork(source, text);
    return regex.test(text);
  }

  takeWork(source: string, text: string): void {
    this.#workLeft -= measureSearch(source, text);
    if (this.#workLeft < 0)
      throw new ProbeFailure(
        `Searching for ${source} would take more than ${JUDGING_BUDGET_MS} ms: use simpler patterns`,
      );
  }

  /** Destroys a socket when the probe ends early; the socket's owner gets an error. */
  bind(socket: Socket): void {
    const abort = (): void => void socket.destroy(new ProbeFailure('The timeout passed'));
    if (this.signal.aborted) return abort();
    this.signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => this.signal.removeEventListener('abort', abort));
  }
}

type RunOptions = { target: string; hostname: string | null; guard: Guard; signal: AbortSignal; timeoutMs: number };

/** Returns an address with its family; an IPv4-mapped IPv6 address is IPv4, as in Go. */
function chosen(address: string): { address: string; family: 4 | 6 } {
  if (isIP(address) === 4) return { address, family: 4 };
  const usual = ipaddr.process(address.replace(/%.*$/, '')).toString();
  return isIP(usual) === 4 ? { address: usual, family: 4 } : { address, family: 6 };
}

/** Returns the 32-bit FNV-1a hash of an address's bytes. */
function hashOf(address: string): number {
  let hash = 0x811c9dc5;
  for (const byte of ipaddr.parse(address.replace(/%.*$/, '')).toByteArray()) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

export function secondsSince(startedAtMs: number): number {
  return (performance.now() - startedAtMs) / 1000;
}

/** All gauges of a probe, with the names of blackbox_exporter. */
const HELP = {
  probe_dns_additional_rrs: 'Number of entries in the additional resource record list.',
  probe_dns_answer_rrs: 'Number of entries in the answer resource record list.',
  probe_dns_authority_rrs: 'Number of entries in the authority resource record list.',
  probe_dns_duration_seconds: 'Duration of the DNS request by phase.',
  probe_dns_lookup_time_seconds: 'How long the lookup of the host of the target took.',
  probe_dns_query_succeeded: 'Whether the query was answered.',
  probe_dns_serial: 'Serial number of the zone.',
  probe_duration_seconds: 'How long the probe took.',
  probe_expect_info: 'What an expected text held.',
  probe_failed_due_to_bytes: 'Whether the probe failed because of expected bytes.',
  probe_failed_due_to_regex: 'Whether the probe failed because of a regular expression.',
  probe_http_content_length: 'Length of the body as the response states it, -1 where it does not.',
  probe_http_duration_seconds: 'Duration of the http request by phase, summed over all redirects.',
  probe_http_last_modified_timestamp_seconds: 'Last-Modified of the response in Unix seconds.',
  probe_http_redirects: 'Number of redirects.',
  probe_http_ssl: 'Whether the final response came over TLS.',
  probe_http_status_code: 'Status code of the response, 0 without one.',
  probe_http_uncompressed_body_length: 'Length of the body with its compression undone.',
  probe_http_version: 'Version of HTTP of the response.',
  probe_icmp_duration_seconds: 'Duration of the echo request by phase.',
  probe_ip_addr_hash: 'Hash of the address that was probed.',
  probe_ip_protocol: 'Whether the address is of IPv4 or IPv6.',
  probe_ssl_earliest_cert_expiry: 'When the first of the certificates that were sent expires, in Unix seconds.',
  probe_ssl_last_chain_expiry_timestamp_seconds: 'When the verified chain expires, in Unix seconds.',
  probe_ssl_last_chain_info: 'The certificate of the server.',
  probe_success: 'Whether the probe was a success.',
  probe_timeout_seconds: 'The timeout of the probe.',
  probe_tls_version_info: 'The version of TLS.',
} as const;

type GaugeName = keyof typeof HELP;
type Labels = Readonly<Record<string, string>>;

/** Measurements of one probe. */
export class Gauges {
  readonly #samples = new Map<GaugeName, Map<string, number>>();

  set(name: GaugeName, value: number, labels: Labels = {}): void {
    this.#samplesOf(name).set(written(labels), value);
  }

  add(name: GaugeName, value: number, labels: Labels = {}): void {
    const samples = this.#samplesOf(name);
    const key = written(labels);
    samples.set(key, (samples.get(key) ?? 0) + value);
  }

  /** Sets gauges to 0 until their values are known. */
  declare(...names: readonly GaugeName[]): void {
    for (const name of names) this.set(name, 0);
  }

  /** Does the same for each phase of a duration. */
  declareSteps(name: GaugeName, phases: readonly string[]): void {
    for (const phase of phases) this.add(name, 0, { phase });
  }

  /** Returns the gauges in the text format of Prometheus, sorted by name. */
  write(): string {
    let text = '';
    for (const name of [...this.#samples.keys()].toSorted()) {
      text += writeHead(name, HELP[name]);
      for (const [labels, value] of this.#samples.get(name) ?? []) text += writeSample(name, labels, value);
    }
    return text;
  }

  #samplesOf(name: GaugeName): Map<string, number> {
    const samples = this.#samples.get(name) ?? new Map<string, number>();
    this.#samples.set(name, samples);
    return samples;
  }
}

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${labelValue(value, MAX_LABEL_CHARACTERS)}"`)
    .join(',');
}

/** Maximum length of a label: certificates can have many alternative names. */
const MAX_LABEL_CHARACTERS = 4096;
