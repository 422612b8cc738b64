import dgram from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { domainToASCII } from 'node:url';
import { NAMES } from './address-forms.ts';

/** A server on every address of this machine, over tcp and udp on one port. Counts its clients and never responds. */
export type Watchman = { port: number; connections: () => number; close: () => void };

/** Starts the watchman. On a machine without IPv6 it listens on all IPv4 addresses. */
export async function startWatchman(): Promise<Watchman> {
  let connections = 0;
  const host = (await hasIpv6()) ? '::' : '0.0.0.0';
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).destroy();
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const datagrams = dgram.createSocket(host === '::' ? 'udp6' : 'udp4').on('message', () => {
    connections += 1;
  });
  datagrams.bind(port, host);
  await once(datagrams, 'listening');
  return {
    port,
    connections: () => connections,
    close() {
      server.close();
      datagrams.close();
    },
  };
}

async function hasIpv6(): Promise<boolean> {
  const server = net.createServer().listen(0, '::1');
  const started = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return started;
}

/**
 * Names looked up by this process in order, and the answers by name. The first list of addresses answers the first
 * lookup, the last one all later lookups.
 */
export type Resolver = { lookedUp: string[]; answers: Map<string, string[][]>; restore: () => void };

/** Numbers that the system's resolver parses as addresses, without a query. */
const NUMERIC = /^[\da-fx.]+$/i;

/**
 * Replaces the system's resolver, so that it answers like an attacker's DNS zone. The names of the table and those that
 * a test adds resolve as listed, all others do not. No other part is replaced, and nothing leaves the machine.
 */
export function takeOverResolver(): Resolver {
  const original = dns.lookup;
  const lookedUp: string[] = [];
  const answers: Resolver['answers'] = new Map(
    Object.entries(NAMES).map(([name, addresses]) => [name, [[...addresses]]]),
  );
  const lookup = (
    name: string,
    options: dns.LookupOptions,
    callback: (error: Error | null, addresses: dns.LookupAddress[] | string, family?: number) => void,
  ): void => {
    // The system's resolver does the same.
    const ascii = domainToASCII(name);
    if (NUMERIC.test(ascii)) return original(name, options, callback as never);
    lookedUp.push(name);
    const lists = answers.get(ascii.replace(/\.$/, ''));
    const list = (lists !== undefined && lists.length > 1 ? lists.shift() : lists?.[0]) ?? [];
    const found = list.map((address) => ({ address, family: net.isIPv6(address) ? 6 : 4 }));
    const [first] = found;
    if (first === undefined)
      setImmediate(callback, Object.assign(new Error(`${name} leads nowhere`), { code: 'ENOTFOUND' }), []);
    else if (options.all) setImmediate(callback, null, found);
    else setImmediate(callback, null, first.address, first.family);
  };
  Object.assign(dns, { lookup });
  return { lookedUp, answers, restore: () => void Object.assign(dns, { lookup: original }) };
}
