import test from 'ava';
import { readRdapDomain } from '../../../probes/domain/rdap-answer.ts';
import { rdapDomain } from '../../helpers/registry.ts';

const EXPIRY = Date.parse('2031-08-13T04:00:00Z') / 1000;

const ANSWERS: readonly [what: string, answer: object | string, expected: object | null][] = [
  [
    'a gTLD registry',
    rdapDomain('example.com', '2031-08-13T04:00:00Z'),
    { expiresAt: EXPIRY, registrar: 'Example Registrar Inc.' },
  ],
  [
    'a registry without expiry dates',
    rdapDomain('example.com', null),
    { expiresAt: null, registrar: 'Example Registrar Inc.' },
  ],
  [
    'a time zone other than UTC',
    { objectClassName: 'domain', events: [{ eventAction: 'expiration', eventDate: '2031-08-13T07:00:00.000+03:00' }] },
    { expiresAt: EXPIRY, registrar: null },
  ],
  [
    'an invalid date',
    { objectClassName: 'domain', events: [{ eventAction: 'expiration', eventDate: 'never' }] },
    { expiresAt: null, registrar: null },
  ],
  [
    "only the registrar's expiry",
    { objectClassName: 'domain', events: [{ eventAction: 'registrar expiration', eventDate: '2031-08-13T04:00:00Z' }] },
    { expiresAt: null, registrar: null },
  ],
  [
    'a registrar without a vCard',
    { ldhName: 'EXAMPLE.COM.', entities: [{ roles: ['Registrar'], handle: 'REG-7' }] },
    { expiresAt: null, registrar: 'REG-7' },
  ],
  [
    'entities and events of an unknown form',
    { objectClassName: 'domain', entities: 'none', events: { eventAction: 'expiration' } },
    { expiresAt: null, registrar: null },
  ],
  [
    'a malformed vCard',
    {
      objectClassName: 'domain',
      entities: [
        { roles: ['registrar'], vcardArray: ['vcard', [['n'], 7, ['fn', {}, 'text', 'Example\u0000AG', 'x']], 1] },
      ],
    },
    { expiresAt: null, registrar: 'Example AG' },
  ],
  ['another domain', rdapDomain('another.com', '2031-08-13T04:00:00Z'), null],
  ['an error', { errorCode: 404, title: 'Not Found' }, null],
  ['a list', '[]', null],
  ['invalid JSON', '<html>', null],
];
for (const [what, answer, expected] of ANSWERS) {
  test(`RDAP: ${what}`, (t) => {
    t.deepEqual<unknown, unknown>(
      readRdapDomain(typeof answer === 'string' ? answer : JSON.stringify(answer), 'example.com'),
      expected,
    );
  });
}
