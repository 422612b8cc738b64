import { z } from 'zod';
import type { Registration } from '../../core/checks/domain/facts.ts';
import { cleanText, parseJson } from '../../core/foreign-text.ts';
import { parseExpiryDate } from './expiry-date.ts';

/** Maximum length of a registrar's name, in characters; longer ones are cut. */
export const MAX_REGISTRAR = 120;

/** Maximum entries read of a list, and properties of a card: no registry has as many. */
const MAX_ENTRIES = 100;

/** Returns the list entries that have the expected form, and skips the others cheaply. */
const entriesOf = <Entry extends z.ZodType>(entry: Entry) =>
  z
    .array(z.unknown())
    .optional()
    .catch([])
    .transform((list = []) => list.slice(0, MAX_ENTRIES).flatMap((each) => entry.safeParse(each).data ?? []));

// Servers deviate from RFC 9083 in fields that are not read here, so only these are validated.
const domainObject = z.object({
  objectClassName: z.string().optional(),
  ldhName: z.string().optional(),
  events: entriesOf(z.object({ eventAction: z.string().optional(), eventDate: z.string().optional() })),
  entities: entriesOf(
    z.object({ roles: entriesOf(z.string()), handle: z.string().optional(), vcardArray: z.unknown().optional() }),
  ),
});

/** Parses the JSON of an RDAP domain object (RFC 9083); null if it is not one, or is of another domain. */
export function readRdapDomain(text: string, name: string): Registration | null {
  const read = domainObject.safeParse(parseJson(text));
  if (!read.success) return null;
  const { objectClassName, ldhName, events, entities } = read.data;
  if (objectClassName?.toLowerCase() !== 'domain' && ldhName === undefined) return null;
  if (ldhName !== undefined && ldhName.replace(/\.$/, '').toLowerCase() !== name) return null;
  const expiry = events.find(({ eventAction }) => eventAction?.toLowerCase() === 'expiration')?.eventDate;
  const registrar = entities.find(({ roles }) => roles.some((role) => role.toLowerCase() === 'registrar'));
  return {
    expiresAt: expiry === undefined ? null : parseExpiryDate(expiry),
    registrar: registrar === undefined ? null : nameOf(registrar),
  };
}

/** The full name in a jCard (RFC 7095), of `["vcard", [["fn", {}, "text", "Example Registrar"], ...]]`. */
const fullName = z.tuple([z.literal('fn'), z.unknown(), z.unknown(), z.string()]).rest(z.unknown());
const card = z.tuple([z.unknown(), z.array(z.unknown())]).rest(z.unknown());

function nameOf({ vcardArray, handle }: { vcardArray?: unknown; handle?: string | undefined }): string | null {
  const read = card.safeParse(vcardArray);
  const properties = read.success ? read.data[1].slice(0, MAX_ENTRIES) : [];
  const names = properties.map((property) => fullName.safeParse(property).data?.[3]);
  return cleanText(names.find((name) => name !== undefined) ?? handle ?? '', MAX_REGISTRAR) || null;
}
