import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { parseHostPort } from '../../net/host-address.ts';
import { ConnectionReader, failureFrom, openConnection, secureConnection } from './connection.ts';
import type { QueryResponse, TcpSettings } from './modules.ts';
import { ProbeFailure, type ProbeRun } from './run.ts';
import { readTlsFacts, securedBy, setTlsGauges, type Secured } from './tls-settings.ts';

/** Connects, and holds the conversation of the module. Throws a `ProbeFailure`. */
export async function probeTcp(run: ProbeRun, settings: TcpSettings): Promise<void> {
  const { gauges } = run;
  gauges.declare('probe_failed_due_to_regex', 'probe_failed_due_to_bytes');
  const target = parseHostPort(run.target);
  if (target === null) throw new ProbeFailure('The target is not host:port');
  const { address } = await run.chooseAddress(target.host, settings);
  const secured = securedBy(settings.tls, settings.tls.serverName ?? run.hostname ?? target.host);
  const socket = await openConnection(run, { address, port: target.port, secured: settings.isSecure ? secured : null });
  run.log('Connected');
  if (socket instanceof TLSSocket) setTlsGauges(gauges, readTlsFacts(socket, secured));
  const conversation = new Conversation(run, socket);
  try {
    for (const query of settings.queries) {
      await conversation.hold(query);
      if (query.startsTls) setTlsGauges(gauges, readTlsFacts(await conversation.secure(secured), secured));
    }
  } finally {
    // The last sent data still goes out.
    conversation.socket.destroySoon();
  }
}

class Conversation {
  socket: Socket;
  readonly #run: ProbeRun;
  #reader: ConnectionReader;

  constructor(run: ProbeRun, socket: Socket) {
    this.#run = run;
    this.socket = socket;
    this.#reader = new ConnectionReader(socket);
  }

  /** Waits for the expected text, then sends. */
  async hold({ expect, expectBytes, send, labels }: QueryResponse): Promise<void> {
    let sent = send;
    if (expect !== null) {
      const groups = await this.#await(expect);
      sent = expand(send, groups);
      if (labels.length > 0)
        this.#run.gauges.set(
          'probe_expect_info',
          1,
          Object.fromEntries(labels.map(({ name, value }) => [name, expand(value, groups)])),
        );
    }
    if (expectBytes !== '') await this.#awaitBytes(Buffer.from(expectBytes));
    if (sent !== '') await this.#send(`${sent}\n`);
  }

  async secure(secured: Secured): Promise<TLSSocket> {
    this.#reader.release();
    const secure = await secureConnection(this.#run, this.socket, secured);
    this.socket = secure;
    this.#reader = new ConnectionReader(secure);
    return secure;
  }

  async #await(expect: NonNullable<QueryResponse['expect']>): Promise<Groups> {
    for (let line = await this.#reader.line(); line !== null; line = await this.#reader.line()) {
      this.#run.takeWork(expect.source, line);
      const matcher = expect.regex.matcher(line);
      if (matcher.find()) {
        this.#run.gauges.set('probe_failed_due_to_regex', 0);
        this.#run.log(`Matched ${expect.source}`);
        const names = Object.entries(expect.regex.namedGroups());
        const numbered = Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? '');
        return new Map([
          ...numbered.map((text, index) => [String(index), text] as const),
          ...names.map(([name, index]) => [name, numbered[index] ?? ''] as const),
        ]);
      }
    }
    this.#run.gauges.set('probe_failed_due_to_regex', 1);
    throw new ProbeFailure(`No line matched ${expect.source}`);
  }

  async #awaitBytes(expected: Buffer): Promise<void> {
    const received = await this.#reader.bytes(expected.length);
    if (received.length < expected.length) throw new ProbeFailure('The answer has fewer bytes than expected');
    const isEqual = received.equals(expected);
    this.#run.gauges.set('probe_failed_due_to_bytes', isEqual ? 0 : 1);
    if (!isEqual) throw new ProbeFailure('The answer has other bytes than expected');
  }

  #send(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.write(text, (error) => (error ? reject(failureFrom(error)) : resolve()));
    });
  }
}

type Groups = ReadonlyMap<string, string>;

/** Replaces `$1`, `${1}` and `${name}` by groups as Go does: `$1x` is the group `1x`, `$$` a dollar sign. */
function expand(template: string, groups: Groups): string {
  return template.replaceAll(/\$(?:\$|\{\w+\}|\w+)/g, (reference) => {
    return reference === '$$' ? '$' : (groups.get(reference.replaceAll(/[${}]/g, '')) ?? '');
  });
}
