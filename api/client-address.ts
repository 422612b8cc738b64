import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { RequestHandler } from 'express';
import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';
import { contextOf } from './request-context.ts';

/** Names of ranges in the configuration, with proxy-addr's names for them. */
const RANGES: Readonly<Record<string, string>> = { loopback: 'loopback', private: 'uniquelocal' };

/**
 * Makes the function that finds the address of a request's client. This is the other end of the connection or, if that
 * is a trusted proxy, the nearest entry of `X-Forwarded-For` that is not one; clients can forge anything before that
 * entry. An entry that is not an address counts as the proxy that passed it on. IPv4 addresses are returned as such,
 * even if mapped into IPv6; zones are left out. Null once the connection is closed.
 */
export function createAddressFinder(trustedProxies: readonly string[]): (request: IncomingMessage) => string | null {
  const isInRange =
    trustedProxies.length === 0
      ? () => false
      : proxyAddr.compile(trustedProxies.map((proxy) => RANGES[proxy] ?? proxy));
  // proxy-addr accepts 10.1 and 0x0a000001 as addresses, which no proxy writes.
  const isTrusted = (address: string, hop: number) => isAddress(address) && isInRange(address, hop);
  return (request) => {
    const address = proxyAddr.all(request, isTrusted).findLast(isAddress);
    return address === undefined ? null : ipaddr.process(withoutZone(address)).toString();
  };
}

function isAddress(text: string | undefined): text is string {
  return text !== undefined && isIP(text) !== 0 && ipaddr.isValid(withoutZone(text));
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}

/**
 * Records the address of a request's client while the connection surely exists. All code that counts, stores or logs
 * the address reads it from the context.
 */
export function clientAddress({ trustedProxies }: { trustedProxies: readonly string[] }): RequestHandler {
  const findAddress = createAddressFinder(trustedProxies);
  return (request, response, next) => {
    contextOf(response).address = findAddress(request);
    next();
  };
}

/**
 * Returns the network of an address: IPv4 addresses themselves, even if mapped into IPv6; for IPv6 the /64, since a
 * customer has a whole one.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')
    : parsed.toString();
}
