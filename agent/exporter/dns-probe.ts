import { randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import { parseHostPort, type HostPort } from '../../net/host-address.ts';
import { createUdpClient } from '../../net/udp-exchange.ts';
import { ConnectionReader, failureFrom, openConnection } from './connection.ts';
import { InvalidMessage, readMessage, writeQuery, type DnsMessage, type DnsRecord } from './dns-message.ts';
import { RECORD_TYPES, type DnsSettings, type RecordRules } from './dns-settings.ts';
import { ProbeFailure, secondsSince, type ProbeRun } from './run.ts';
import { securedBy } from './tls-settings.ts';

const PORT = 53;
const SECURE_PORT = 853;

/** Queries a server, and validates the response by the rules of the module. Throws a `ProbeFailure`. */
export async function probeDns(run: ProbeRun, settings: DnsSettings): Promise<void> {
  const { gauges } = run;
  gauges.declareSteps('probe_dns_duration_seconds', ['resolve', 'connect', 'request']);
  gauges.declare('probe_dns_answer_rrs', 'probe_dns_authority_rrs', 'probe_dns_additional_rrs');
  gauges.declare('probe_dns_query_succeeded');
  const target = serverOf(run.target, settings.isSecure ? SECURE_PORT : PORT);
  if (target === null) throw new ProbeFailure('The target is not a host, or host:port');
  const { address, lookupSeconds } = await run.chooseAddress(target.host, settings);
  gauges.set('probe_dns_duration_seconds', lookupSeconds, { phase: 'resolve' });

  const message = await new Query(run, settings).ask({ address, target });
  gauges.set('probe_dns_query_succeeded', 1);
  gauges.set('probe_dns_answer_rrs', message.answers.length);
  gauges.set('probe_dns_authority_rrs', message.authorities.length);
  gauges.set('probe_dns_additional_rrs', message.additionals.length);
  if (settings.queryType === RECORD_TYPES['SOA'])
    gauges.set('probe_dns_serial', message.answers.findLast(({ serial }) => serial !== null)?.serial ?? 0);

  if (!settings.validRcodes.includes(message.rcode)) throw new ProbeFailure(`The answer has the code ${message.rcode}`);
  validate(run, { section: 'answer', records: message.answers, rules: settings.answer });
  validate(run, { section: 'authority', records: message.authorities, rules: settings.authority });
  validate(run, { section: 'additional', records: message.additionals, rules: settings.additional });
}

/** Parses a host and port, or a host alone; an IPv6 address in brackets or, alone, without. */
function serverOf(text: string, port: number): HostPort | null {
  return parseHostPort(text) ?? parseHostPort(isIP(text) === 6 ? `[${text}]:${port}` : `${text}:${port}`);
}

type Server = { address: string; target: HostPort };

class Query {
  readonly #run: ProbeRun;
  readonly #settings: DnsSettings;
  readonly #id = randomInt(0x1_0000);
  readonly #query: Buffer;

  constructor(run: ProbeRun, settings: DnsSettings) {
    const { queryName, queryType, queryClass, wantsRecursion } = settings;
    this.#run = run;
    this.#settings = settings;
    this.#query = writeQuery(this.#id, { name: queryName, type: queryType, class: queryClass, wantsRecursion });
  }

  async ask(server: Server): Promise<DnsMessage> {
    const bytes = await (this.#settings.transport === 'udp' ? this.#overUdp(server) : this.#overTcp(server));
    const message = read(bytes);
    if (message.id !== this.#id) throw new ProbeFailure('The answer belongs to another query');
    return message;
  }

  async #overUdp({ address, target: { port } }: Server): Promise<Buffer> {
    const { guard, gauges, signal } = this.#run;
    const startedAtMs = performance.now();
    const exchange = createUdpClient(guard);
    const deadlineMs = this.#run.remainingMs();
    const answer = await exchange({ host: address, port, payload: this.#query, deadlineMs, signal });
    if (answer.outcome === 'silent')
      throw new ProbeFailure(answer.isRefused ? 'No service listens on the port' : 'No answer came in time');
    if (answer.outcome === 'failed') throw new ProbeFailure(answer.reason);
    const requestSeconds = answer.roundTripMs / 1000;
    gauges.set('probe_dns_duration_seconds', requestSeconds, { phase: 'request' });
    gauges.set('probe_dns_duration_seconds', secondsSince(startedAtMs) - requestSeconds, { phase: 'connect' });
    return answer.reply;
  }

  async #overTcp({ address, target: { host, port } }: Server): Promise<Buffer> {
    const { isSecure, tls } = this.#settings;
    const { gauges } = this.#run;
    const startedAtMs = performance.now();
    const secured = isSecure ? securedBy(tls, tls.serverName ?? host) : null;
    const socket = await openConnection(this.#run, { address, port, secured });
    try {
      gauges.set('probe_dns_duration_seconds', secondsSince(startedAtMs), { phase: 'connect' });
      const sentAtMs = performance.now();
      const length = Buffer.alloc(2);
      length.writeUInt16BE(this.#query.length);
      socket.write(Buffer.concat([length, this.#query]));
      const reader = new ConnectionReader(socket);
      const head = await reader.bytes(2);
      const answer = await reader.bytes(head.length < 2 ? 0 : head.readUInt16BE());
      gauges.set('probe_dns_duration_seconds', secondsSince(sentAtMs), { phase: 'request' });
      return answer;
    } finally {
      socket.destroy();
    }
  }
}

function read(bytes: Buffer): DnsMessage {
  try {
    return readMessage(bytes);
  } catch (error) {
    if (error instanceof InvalidMessage) throw failureFrom(error);
    throw error;
  }
}

/** Validates the records of a section by its rules, in the order and with the exceptions of blackbox_exporter. */
function validate(
  run: ProbeRun,
  { section, records, rules }: { section: string; records: readonly DnsRecord[]; rules: RecordRules },
): void {
  const { failIfMatches, failIfAllMatch, failIfNotMatches, failIfNoneMatches } = rules;
  if (records.length === 0 && failIfNotMatches.length + failIfNoneMatches.length > 0)
    throw new ProbeFailure(`The ${section} section has no records`);
  let allMatch = true;
  let anyMatches = false;
  for (const { line } of records) {
    for (const pattern of failIfMatches)
      if (run.matches(pattern, line)) throw new ProbeFailure(`A record of ${section} matches ${pattern.source}`);
    for (const pattern of failIfAllMatch) if (!run.matches(pattern, line)) allMatch = false;
    for (const pattern of failIfNotMatches)
      if (!run.matches(pattern, line))
        throw new ProbeFailure(`A record of ${section} does not match ${pattern.source}`);
    for (const pattern of failIfNoneMatches) if (run.matches(pattern, line)) anyMatches = true;
  }
  // This follows blackbox_exporter: with this rule the probe succeeds only if all of the records match.
  if (failIfAllMatch.length > 0 && !allMatch) throw new ProbeFailure(`Not all records of ${section} match`);
  if (failIfNoneMatches.length > 0 && !anyMatches) throw new ProbeFailure(`No record of ${section} matches`);
}
