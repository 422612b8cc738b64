import type { RequestListener } from 'node:http';
import type { Harness } from './harness.ts';
import { startHttpServer, startRawServer } from './http-server.ts';

/** A WHOIS server; `queries` are the received lines, in order. */
export type WhoisTestServer = { host: string; port: number; queries: string[] };

/**
 * Starts a WHOIS server: it reads one line, sends the result of `answer` and closes; null = it sends nothing and never
 * closes.
 */
export async function startWhoisServer(
  t: Harness,
  answer: (query: string) => string | Buffer | null,
): Promise<WhoisTestServer> {
  const queries: string[] = [];
  const { port } = await startRawServer(t, (socket) => {
    let line = '';
    socket.on('data', (piece) => {
      line += piece.toString('latin1');
      if (!line.endsWith('\r\n')) return;
      queries.push(line.trimEnd());
      const said = answer(line.trimEnd());
      if (said !== null) socket.end(said);
    });
  });
  return { host: '127.0.0.1', port, queries };
}

/** An RDAP server; `requests` are the requested paths, in order. */
export type RdapTestServer = { base: string; requests: string[] };

/** Starts an RDAP server below `/rdap/`. */
export async function startRdapServer(t: Harness, listener: RequestListener): Promise<RdapTestServer> {
  const requests: string[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    requests.push(request.url ?? '');
    listener(request, response);
  });
  return { base: `http://127.0.0.1:${port}/rdap/`, requests };
}

/** Returns a domain object as of a gTLD registry; `expiry` is its eventDate, null = none is published. */
export function rdapDomain(name: string, expiry: string | null): string {
  const events = [
    { eventAction: 'registration', eventDate: '1997-09-15T04:00:00Z' },
    { eventAction: 'last update of RDAP database', eventDate: '2026-11-20T10:00:00Z' },
  ];
  return JSON.stringify({
    objectClassName: 'domain',
    handle: '2138514_DOMAIN_COM-VRSN',
    ldhName: name.toUpperCase(),
    status: ['client delete prohibited', 'client transfer prohibited'],
    entities: [
      {
        objectClassName: 'entity',
        handle: '292',
        roles: ['registrar'],
        vcardArray: [
          'vcard',
          [
            ['version', {}, 'text', '4.0'],
            ['fn', {}, 'text', 'Example Registrar Inc.'],
          ],
        ],
        entities: [
          {
            objectClassName: 'entity',
            roles: ['abuse'],
            vcardArray: [
              'vcard',
              [
                ['version', {}, 'text', '4.0'],
                ['fn', {}, 'text', ''],
              ],
            ],
          },
        ],
      },
    ],
    events:
      expiry === null
        ? events
        : [...events.slice(0, 1), { eventAction: 'expiration', eventDate: expiry }, ...events.slice(1)],
    rdapConformance: ['rdap_level_0', 'icann_rdap_response_profile_0'],
  });
}
