import type { CaaRecord } from 'node:dns';
import type { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsFailure } from '../../core/checks/dns/observation.ts';
import { normaliseDnsRecord, type DnsRecordType } from '../../core/checks/dns/records.ts';

// Each gives its records as a zone file would write them; a name of no length is the root, as in a null MX (RFC 7505).
const LOOKUPS = {
  A: (resolver, name) => resolver.resolve4(name),
  AAAA: (resolver, name) => resolver.resolve6(name),
  CNAME: (resolver, name) => resolver.resolveCname(name),
  MX: async (resolver, name) =>
    (await resolver.resolveMx(name)).map(({ priority, exchange }) => `${priority} ${exchange || '.'}`),
  NS: (resolver, name) => resolver.resolveNs(name),
  TXT: async (resolver, name) => (await resolver.resolveTxt(name)).map((strings) => strings.map(quoteString).join(' ')),
  SOA: async (resolver, name) => {
    const { nsname, hostmaster, serial, refresh, retry, expire, minttl } = await resolver.resolveSoa(name);
    return [[nsname, hostmaster, serial, refresh, retry, expire, minttl].join(' ')];
  },
  SRV: async (resolver, name) =>
    (await resolver.resolveSrv(name)).map(
      ({ priority, weight, port, name: target }) => `${priority} ${weight} ${port} ${target || '.'}`,
    ),
  CAA: async (resolver, name) => (await resolver.resolveCaa(name)).flatMap(caaTexts),
  PTR: (resolver, name) => resolver.resolvePtr(name),
} as const satisfies Record<DnsRecordType, (resolver: Resolver, name: string) => Promise<string[]>>;

const NO_RECORDS: DnsAnswer = { outcome: 'records', records: [] };

// What a server can do to us, in the codes of node:dns; a code that is not here is our own trouble.
const BY_CODE: Readonly<Record<string, DnsAnswer>> = {
  ENODATA: NO_RECORDS,
  ENOTFOUND: { outcome: 'nxdomain' },
  ETIMEOUT: failed('timeout'),
  ESERVFAIL: failed('servfail'),
  EREFUSED: failed('refused'),
  ECONNREFUSED: failed('unreachable'),
  EFORMERR: failed('invalid'),
  ENOTIMP: failed('invalid'),
  EBADRESP: failed('invalid'),
  EBADNAME: failed('invalid'),
  EBADSTR: failed('invalid'),
};

/**
 * Asks a resolver one question. Whatever it answers, or fails to, is a value; rejects when the resolver was told to
 * cancel, or our own machine lacks something.
 */
export async function ask(
  resolver: Resolver,
  { name, type }: { name: string; type: DnsRecordType },
): Promise<DnsAnswer> {
  try {
    const records = (await LOOKUPS[type](resolver, name)).map((text) => normaliseDnsRecord(type, text));
    return { outcome: 'records', records: [...new Set(records)].toSorted() };
  } catch (error) {
    const answer = error instanceof Error ? BY_CODE[(error as NodeJS.ErrnoException).code ?? ''] : undefined;
    if (answer === undefined) throw error;
    return answer;
  }
}

function failed(failure: DnsFailure): DnsAnswer {
  return { outcome: 'failed', failure };
}

/** Node hands bytes on as Latin-1 characters; text beyond ASCII is UTF-8 in practice. */
function quoteString(bytes: string): string {
  return `"${Buffer.from(bytes, 'latin1').toString().replaceAll(/["\\]/g, '\\$&')}"`;
}

/** A record holds one tag, named by its key; newer versions of Node put the record's type beside it. */
function caaTexts({ critical, ...tags }: CaaRecord): string[] {
  return Object.entries(tags).flatMap(([tag, value]) =>
    tag === 'type' || value === undefined ? [] : [`${critical} ${tag} ${quoteString(value)}`],
  );
}
