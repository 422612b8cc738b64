import { domainToASCII } from 'node:url';
import type { Registration } from '../../core/checks/domain/facts.ts';
import { cleanText } from '../../core/foreign-text.ts';
import type { HostPort } from '../../net/host-address.ts';
import { parseExpiryDate } from './expiry-date.ts';
import { MAX_REGISTRAR } from './rdap-answer.ts';

/**
 * One `key: value` of a WHOIS answer; the key in lower case, its dots, dashes and underscores replaced by single
 * blanks.
 */
type WhoisField = { key: string; value: string };

/**
 * Maximum length of a line, in characters; longer ones are cut. None is a field, and a line of blanks must not keep a
 * pattern busy.
 */
const MAX_LINE = 500;

const COMMENT = /^(?:[%#;]|>>>|--)/;
// `key: value`, `key......: value`, `** key: value`, `[key] value`. If one part may end with blanks, the next begins
// with none: otherwise the blanks of a line that is no field could be divided between them in thousands of ways.
const COLON = /^(?:\*\*\s*)?(?<key>[^\s:[\]][^:[\]]{0,49}?)[\s.]*:(?!\/\/)\s*(?<value>.*)$/;
const BRACKETS = /^(?:[a-z]\.\s*)?\[(?<key>[^\]]{1,50})\]\s*(?<value>.*)$/;
// Record expires on 2026-12-31 (YYYY-MM-DD)
const PROSE = /^(?<key>(?:record|domain)? ?(?:expires|expired|will expire) on)\s+(?=\S)(?<value>.*\d{4}.*)$/i;

type Line = { text: string; indent: number };

/**
 * Returns the fields of a WHOIS answer in order, without comments. A key without a value takes the indented line below
 * it.
 */
function readWhoisFields(text: string): WhoisField[] {
  const lines = text
    .split(/\r?\n/)
    .map(readLine)
    .filter((line) => line.text !== '' && !COMMENT.test(line.text));
  return lines.flatMap((line, index) => {
    const field = PROSE.exec(line.text)?.groups ?? BRACKETS.exec(line.text)?.groups ?? COLON.exec(line.text)?.groups;
    if (field === undefined) return [];
    const value = field['value'] || valueBelow(line, lines[index + 1]);
    return value === '' ? [] : [{ key: normaliseKey(field['key'] ?? ''), value }];
  });
}

function readLine(line: string): Line {
  return { text: line.trim().slice(0, MAX_LINE), indent: line.length - line.trimStart().length };
}

function valueBelow({ indent }: Line, next: Line | undefined): string {
  return next === undefined || next.indent <= indent || COLON.test(next.text) ? '' : next.text;
}

function normaliseKey(key: string): string {
  return key
    .toLowerCase()
    .replaceAll(/[\s._-]+/g, ' ')
    .trim();
}

/**
 * Contents of a WHOIS answer: `referral` is the registrar's server, null if none is named. `limited`: the server wants
 * fewer queries. `unreadable`: none of these.
 */
export type WhoisReading =
  | ({ outcome: 'registered'; referral: HostPort | null } & Registration)
  | { outcome: 'not_found' | 'limited' | 'unreadable' };

const WHOIS_PORT = 43;

const DOMAIN_KEYS = new Set([
  'domain',
  'domain name',
  'domainname',
  'domain name (ascii)',
  // For .ee, in the section of the domain; a contact's name does not match the queried one.
  'name',
  'ascii domain',
  'nom de domaine',
  'dominio',
]);
const STATUS_KEYS = new Set(['status', 'domain status', 'state', 'registration status', 'domain state']);
const REGISTRAR_KEYS = [
  'registrar',
  'registrar name',
  'sponsoring registrar',
  'registrar organization',
  'current registar',
  'current registrar',
];
const REFERRAL_KEYS = ['registrar whois server', 'whois server', 'referralserver'];
const ROOT_REFERRAL_KEYS = ['refer', 'whois'];

/**
 * Names of the expiry at registries, best first: the registry's own date counts more than the registrar's, which may
 * predate a renewal.
 */
const EXPIRY_KEYS = [
  'registry expiry date',
  'paid till',
  'expiry date',
  'expiration date',
  'expiration time',
  'expires',
  'expires on',
  'expires at',
  'expires date',
  'expire date',
  'expire',
  'expiry',
  'expiration',
  'exp date',
  'paid until',
  'renewal date',
  'valid until',
  'valid date',
  'validity',
  'record expires on',
  'record will expire on',
  'record expired on',
  'record expires',
  'domain expires on',
  'domain expires',
  'domain expiration date',
  'domain expiry date',
  'domain billed until',
  'domain datebilleduntil',
  'fecha de vencimiento',
  'fecha de expiración',
  '有効期限',
  'registrar registration expiration date',
  'registrar expiration date',
];

const FREE = /^(?:free(?! state\b)|available|no object found|not found|unregistered|unassigned|not registered)\b/i;

/** Nouns for things that a server did not find. */
const ENTRIES = '(?:data|entries|entry|information|objects?|records?|domains?)';

const NOT_FOUND = new RegExp(
  [
    String.raw`\bno match(?:es|ing)?\b`,
    String.raw`\bnot found\b`,
    String.raw`\bnothing found\b`,
    String.raw`\bno ${ENTRIES}(?: was| were| is)? (?:found|available|matching)\b`,
    String.raw`\bno such (?:domain|object|record)\b`,
    String.raw`\bnot (?:been )?registered\b`,
    String.raw`\b(?:is|status:)\s*free\b`,
    String.raw`\bavailable for (?:purchase|registration)\b`,
    String.raw`\b(?:does|do) not (?:exist|have an entry)\b`,
    String.raw`\bunknown domain\b`,
    String.raw`\bdomain unknown\b`,
    String.raw`\bno se encuentra registrado\b`,
    String.raw`\bobject_not_found\b`,
  ].join('|'),
  'i',
);

/** Nouns for things that a server limits. */
const QUESTIONS = '(?:connections|queries|requests)';

const LIMITED = new RegExp(
  [
    String.raw`\b(?:limit|quota|rate|number of (?:allowed )?${QUESTIONS})\b.{0,60}\b(?:exceed|reach)`,
    String.raw`\bexceed(?:ed|ing|s)?\b.{0,60}\b(?:connections|limit|maximum|number|queries|quota|rate|requests)`,
    String.raw`\btoo many (?:connections|queries|requests|simultaneous)`,
    String.raw`\bexcessive (?:queries|querying|requests)`,
    String.raw`\btry again (?:later|in|after)\b`,
    String.raw`\bslow down\b`,
    String.raw`\bblack-?listed\b`,
    String.raw`\binterval is too short\b`,
    String.raw`\bserver (?:is )?(?:too )?busy\b`,
    String.raw`\btemporarily (?:unable|unavailable|denied|blocked)`,
    String.raw`\baccess (?:control limit|denied|has been|restricted)`,
  ].join('|'),
  'i',
);

/**
 * Maximum lines of an answer that is about the query alone; longer ones contain terms of use, which mention limits too.
 */
const SHORT = 8;
/**
 * Number of lines within which a server states that it found nothing, and maximum fields beside that. In an answer with
 * more fields, such words mean something else.
 */
const FOUND_NOTHING_WITHIN = 40;
const FIELDS_BESIDE_NOTHING = 5;

/**
 * Interprets the answer of a registry or registrar about a domain in ASCII form. When in doubt it does not return
 * `not_found`, because that takes monitors down.
 */
export function readWhoisAnswer(text: string, name: string): WhoisReading {
  const fields = readWhoisFields(text);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const isFree = fields.some(({ key, value }) => STATUS_KEYS.has(key) && FREE.test(value));
  const hasNothing =
    fields.length <= FIELDS_BESIDE_NOTHING && NOT_FOUND.test(lines.slice(0, FOUND_NOTHING_WITHIN).join('\n'));
  const expiresAt = findExpiry(fields);
  // Some servers repeat the name before they state that they have no entry for it. With an expiry the name is
  // registered: such a field may be part of a contact's address (D-805).
  if (
    fields.some(({ key, value }) => DOMAIN_KEYS.has(key) && isName(value, name)) &&
    (expiresAt !== null || !(isFree || hasNothing))
  ) {
    return {
      outcome: 'registered',
      expiresAt,
      registrar: findRegistrar(fields),
      referral: findReferral(fields, REFERRAL_KEYS),
    };
  }
  if (isFree) return { outcome: 'not_found' };
  const isLimited = LIMITED.test(text);
  if (isLimited && lines.length <= SHORT) return { outcome: 'limited' };
  if (hasNothing) return { outcome: 'not_found' };
  return { outcome: isLimited ? 'limited' : 'unreadable' };
}

/** Returns the registry's server to which the root's answer (IANA's) refers; null if it names none. */
export function readRootReferral(text: string): HostPort | null {
  return findReferral(readWhoisFields(text), ROOT_REFERRAL_KEYS);
}

/** Reports whether an answer is IANA's own, which is about a top-level domain, whatever the name below it. */
export function isRootsOwn(text: string): boolean {
  return /^% This query returned \d+ objects?\b/m.test(text);
}

function isName(value: string, name: string): boolean {
  const [first = ''] = value.split(/\s+/);
  return domainToASCII(first.replace(/\.$/, '').toLowerCase()) === name;
}

function findExpiry(fields: readonly WhoisField[]): number | null {
  for (const wanted of EXPIRY_KEYS) {
    for (const { key, value } of fields) {
      const expiresAt = key === wanted ? parseExpiryDate(value) : null;
      if (expiresAt !== null) return expiresAt;
    }
  }
  return null;
}

function findRegistrar(fields: readonly WhoisField[]): string | null {
  return cleanText(valueOf(fields, REGISTRAR_KEYS), MAX_REGISTRAR) || null;
}

/** Returns the value of the first of these keys that the answer has; empty if it has none. */
function valueOf(fields: readonly WhoisField[], keys: readonly string[]): string {
  return keys.flatMap((wanted) => fields.find(({ key }) => key === wanted)?.value ?? [])[0] ?? '';
}

function findReferral(fields: readonly WhoisField[], keys: readonly string[]): HostPort | null {
  const value = valueOf(fields, keys);
  const authority = value.replace(/^[a-z]+:\/\//i, '').replace(/[/?#\s].*$/, '');
  const url = authority === '' ? null : URL.parse(`http://${authority}/`);
  if (url === null) return null;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? WHOIS_PORT : Number(url.port) };
}
