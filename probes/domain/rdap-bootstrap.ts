import { z } from 'zod';
import snapshot from './rdap-bootstrap.json' with { type: 'json' };

/** The address of the RDAP service of each top-level domain that has one; it ends in a slash. */
export type RdapServices = Readonly<Record<string, string>>;

const bootstrap = z.object({
  services: z.array(z.tuple([z.array(z.string()).min(1), z.array(z.string()).min(1)]).rest(z.unknown())).min(1),
});

/**
 * Reads IANA's registry of RDAP services (RFC 9224): https where there is a choice. Null for a text that is no such
 * registry, or an empty one.
 */
export function parseBootstrap(text: string): RdapServices | null {
  const read = bootstrap.safeParse(parseJson(text));
  return read.success ? servicesOf(read.data) : null;
}

/** The registry as it was when this program was made. */
export function readSnapshot(): RdapServices {
  return servicesOf(bootstrap.parse(snapshot));
}

function servicesOf({ services }: z.infer<typeof bootstrap>): RdapServices {
  const entries = services.flatMap(([tlds, addresses]) => {
    const usable = addresses.filter((address) => /^https?:\/\//i.test(address) && URL.canParse(address));
    const address = usable.find((candidate) => /^https:/i.test(candidate)) ?? usable[0];
    if (address === undefined) return [];
    return tlds.map((tld) => [tld.toLowerCase(), address.endsWith('/') ? address : `${address}/`] as const);
  });
  return Object.fromEntries(entries);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
