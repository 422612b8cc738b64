import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** For so long the machine's addresses are taken to be the same ones, in milliseconds. */
const FRESH_MS = 10_000;

let own: ReadonlySet<string> = new Set();
let readAtMs = Number.NEGATIVE_INFINITY;

/**
 * True for an address of this machine, as ipaddr.js writes it: what listens on a public one for the machine's own
 * programs may be nothing for its users.
 */
export function isOwnAddress(address: string): boolean {
  if (performance.now() - readAtMs > FRESH_MS) {
    readAtMs = performance.now();
    const found = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
    own = new Set(found.map((one) => writtenAlike(one.address)));
  }
  return own.has(address);
}

function writtenAlike(address: string): string {
  return ipaddr.parse(address.replace(/%.*$/, '')).toString();
}
