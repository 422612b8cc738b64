import dgram, { type Socket } from 'node:dgram';
import { getSystemErrorName } from 'node:util';
import type { Family } from './echo-packet.ts';

/** An ICMP socket that Node reads and writes, or the reason for its absence: the kernel's error for each kind. */
type OpenedSocket = { kind: SocketKind; socket: Socket } | { kind: null; reason: string };
type SocketKind = 'datagram socket' | 'raw socket';

/**
 * Opens an ICMP socket of a family. A datagram socket is tried first: the kernel delivers only its own replies to it,
 * and grants it to the groups of `net.ipv4.ping_group_range`; a raw socket needs CAP_NET_RAW. `ttl` limits the hops of
 * its packets.
 */
export async function openKernelSocket(family: Family, ttl?: number): Promise<OpenedSocket> {
  const calls = await loadSystemCalls();
  if (typeof calls === 'string') return { kind: null, reason: calls };

  const refusals: string[] = [];
  for (const kind of ['datagram socket', 'raw socket'] as const) {
    try {
      return { kind, socket: open(calls, { family, kind, ttl }) };
    } catch (error) {
      refusals.push(`${kind}: ${messageOf(error)}`);
    }
  }
  return { kind: null, reason: refusals.join(', ') };
}

type SystemCalls = {
  socket: (domain: number, type: number, protocol: number) => number;
  setsockopt: (fd: number, option: { level: number; name: number; value: Buffer }) => number;
  dup3: (from: number, to: number, flags: number) => number;
  close: (fd: number) => number;
  /** Error number of the last call. */
  errno: () => number;
};

// Values for Linux, on every processor that Node is built for.
const DOMAIN = { 4: 2, 6: 10 } as const satisfies Record<Family, number>;
const PROTOCOL = { 4: 1, 6: 58 } as const satisfies Record<Family, number>;
const TYPE = { 'datagram socket': 2, 'raw socket': 3 } as const satisfies Record<SocketKind, number>;
const CLOSE_ON_EXEC = 0o2000000;
const FLAGS = CLOSE_ON_EXEC | 0o4000;

// ICMP_FILTER (linux/icmp.h) and ICMP6_FILTER (linux/icmpv6.h): a bit for each type that the socket does not receive.
// That is all but echo replies: otherwise each request to this host, and each neighbor discovery, would wake the
// process.
const FILTER = {
  4: { level: 255, name: 1, value: typesExcept(0, 32) },
  6: { level: 58, name: 1, value: typesExcept(129, 256) },
} as const satisfies Record<Family, object>;

// IP_TTL (linux/in.h) and IPV6_UNICAST_HOPS (linux/in6.h).
const HOPS = { 4: { level: 0, name: 2 }, 6: { level: 41, name: 16 } } as const satisfies Record<Family, object>;

/**
 * Size of the receive buffer, in bytes, so that replies survive a moment in which the process is busy. The kernel
 * grants at most `net.core.rmem_max`, by Linux' default some 500 replies.
 */
const RECEIVE_BYTES = 4 * 1024 * 1024;

/**
 * Loads the system calls. The binding is built for many platforms, but not for all; without it there is still the ping
 * program.
 */
async function loadSystemCalls(): Promise<SystemCalls | string> {
  if (process.platform !== 'linux')
    return `sockets for echo requests are opened on Linux only, this is ${process.platform}`;
  try {
    const { default: koffi } = await import('koffi');
    const libc = koffi.load(null);
    const setsockopt = libc.func('int setsockopt(int fd, int level, int name, const void *value, uint32_t length)');
    return {
      socket: libc.func('int socket(int domain, int type, int protocol)'),
      setsockopt: (fd, { level, name, value }) => setsockopt(fd, level, name, value, value.length) as number,
      dup3: libc.func('int dup3(int from, int to, int flags)'),
      close: libc.func('int close(int fd)'),
      errno: () => koffi.errno(),
    };
  } catch (error) {
    return `the binding to the system's calls does not load: ${messageOf(error)}`;
  }
}

type Wanted = { family: Family; kind: SocketKind; ttl: number | undefined };

function open(calls: SystemCalls, { family, kind, ttl }: Wanted): Socket {
  const fd = checked(calls, calls.socket(DOMAIN[family], TYPE[kind] | FLAGS, PROTOCOL[family]));
  try {
    if (kind === 'raw socket') checked(calls, calls.setsockopt(fd, FILTER[family]));
    if (ttl !== undefined) checked(calls, calls.setsockopt(fd, { ...HOPS[family], value: asInteger(ttl) }));
    return adopt(calls, fd, family);
  } finally {
    calls.close(fd);
  }
}

/**
 * Passes an ICMP socket to Node's event loop. Node adopts descriptors of UDP sockets only, although a raw socket uses
 * the very same calls to send and receive. So Node adopts a plain UDP socket, and the ICMP socket replaces its
 * descriptor before the event loop has polled it (adopting is synchronous, polling begins with the loop's next turn).
 */
function adopt(calls: SystemCalls, fd: number, family: Family): Socket {
  const takenFd = checked(calls, calls.socket(DOMAIN[family], TYPE['datagram socket'] | FLAGS, 0));
  const socket = dgram.createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    // Only addresses are sent to; the usual lookup would postpone each to a later turn of the event loop.
    lookup: (address, _options, callback) => callback(null, address, family),
  });
  socket.bind({ fd: takenFd, exclusive: true });
  if (calls.dup3(fd, takenFd, CLOSE_ON_EXEC) < 0) {
    const error = failedCall(calls);
    socket.close();
    throw error;
  }
  socket.setRecvBufferSize(RECEIVE_BYTES);
  return socket;
}

function checked(calls: SystemCalls, result: number): number {
  if (result < 0) throw failedCall(calls);
  return result;
}

function failedCall({ errno }: SystemCalls): Error {
  return new Error(getSystemErrorName(-errno()));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
}

/** Returns a number in the form of system calls. */
function asInteger(number: number): Buffer {
  return Buffer.from(new Int32Array([number]).buffer);
}

/** Returns a bit for each type, in the kernel's 32-bit words, all set but one. */
function typesExcept(type: number, count: number): Buffer {
  const words = new Uint32Array(count / 32).fill(0xffff_ffff);
  words[type >> 5] = ~(1 << (type & 31));
  return Buffer.from(words.buffer);
}
