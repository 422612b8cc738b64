/** A host and a port to connect to. The host is a name in its ASCII form or an address without brackets. */
export type HostPort = { host: string; port: number };

const AUTHORITY = /^(?<host>\[[^\]]+\]|[^:/?#@\\[\]]+):(?<port>\d{1,5})$/;
const MAX_PORT = 65_535;

/**
 * Reads `host:port`, an IPv6 address in brackets; null for anything else. As in a URL, names in any script get their
 * ASCII form and every numeric form of an address its usual one.
 */
export function parseHostPort(text: string): HostPort | null {
  const { host = '', port = '' } = AUTHORITY.exec(text)?.groups ?? {};
  const hostname = URL.parse(`http://${host}/`)?.hostname ?? '';
  if (hostname === '' || Number(port) < 1 || Number(port) > MAX_PORT) return null;
  return { host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname, port: Number(port) };
}
