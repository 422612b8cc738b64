import test from 'ava';
import { readRootReferral, readWhoisAnswer, type WhoisReading } from '../../../probes/domain/whois-answer.ts';

type Expected = {
  outcome: WhoisReading['outcome'];
  expires?: string | null;
  registrar?: string | null;
  referral?: string;
};

/** Responses in the formats of the registries that they are named after. */
const ANSWERS: readonly [registry: string, name: string, text: string, expected: Expected][] = [
  [
    '.com (thin)',
    'example.com',
    `   Domain Name: EXAMPLE.COM
   Registry Domain ID: 2336799_DOMAIN_COM-VRSN
   Registrar WHOIS Server: whois.registrar.example
   Registrar URL: http://www.registrar.example
   Updated Date: 2026-08-14T07:01:34Z
   Creation Date: 1995-08-14T04:00:00Z
   Registry Expiry Date: 2027-08-13T04:00:00Z
   Registrar: Example Registrar, Inc.
   Domain Status: clientDeleteProhibited https://icann.org/epp#clientDeleteProhibited
>>> Last update of whois database: 2026-11-20T10:00:00Z <<<
NOTICE: The expiration date displayed in this record is the date the registrar's sponsorship of the domain name ` +
      `registration in the registry is
currently set to expire. You agree not to use high-volume, automated queries; excessive queries may be limited.`,
    {
      outcome: 'registered',
      expires: '2027-08-13T04:00:00Z',
      registrar: 'Example Registrar, Inc.',
      referral: 'whois.registrar.example:43',
    },
  ],
  [
    '.com, free',
    'nothing-here.com',
    `No match for domain "NOTHING-HERE.COM".
>>> Last update of whois database: 2026-11-20T10:00:00Z <<<
NOTICE: The expiration date displayed in this record is the date ...
TERMS OF USE: You are not authorized to access or query our Whois database through the use of electronic ` +
      'processes that are high-volume.',
    { outcome: 'not_found' },
  ],
  [
    '.de',
    'example.de',
    'Domain: example.de\nNserver: ns1.example.net\nStatus: connect\nChanged: 2021-03-12T10:01:01+01:00\n',
    { outcome: 'registered', expires: null },
  ],
  [
    '.ee',
    'shop.ee',
    'Domain:\nname:       shop.ee\nstatus:     ok (paid and in zone)\nregistered: 2010-07-04 04:21:14 +03:00\n' +
      'expire:     2027-02-04\n\nRegistrar:\nname:       Example OÜ\n',
    { outcome: 'registered', expires: '2027-02-04T00:00:00Z' },
  ],
  [
    '.mx, of a registrant in the Free State',
    'example.mx',
    'Domain Name:       example.mx\n\nCreated On:        2010-05-01\nExpiration Date:   2027-04-30\n\nRegistrant:\n' +
      '   Name:           Example Ltd\n   City:           Bloemfontein\n   State:          Free State\n' +
      '   Country:        South Africa\n',
    { outcome: 'registered', expires: '2027-04-30T00:00:00Z' },
  ],
  [
    'a registry without expiries, of a registrant in the Free State',
    'example.africa',
    'Domain Name: example.africa\nRegistrant State/Province: Free State\nState: Free State\nCountry: ZA\n',
    { outcome: 'registered', expires: null },
  ],
  [
    'an expiry of 0001-01-01, of a registrant in the Free State',
    'example.africa',
    'Domain Name: example.africa\nExpiry Date: 0001-01-01\nState: Free State\n',
    { outcome: 'registered', expires: null },
  ],
  ['.de, free', 'nothing-here.de', 'Domain: nothing-here.de\nStatus: free\n', { outcome: 'not_found' }],
  [
    '.de, rate limited',
    'example.de',
    '% Error: 55000000002 Connection refused; access control limit exceeded.\n',
    { outcome: 'limited' },
  ],
  [
    '.eu',
    'example.eu',
    '% The WHOIS service offered by EURid is subject to terms.\n% WHOIS example.eu\nDomain: example.eu\nScript: ' +
      'LATIN\n\nRegistrant:\n        NOT DISCLOSED!\n\nRegistrar:\n        Name: Example Registrar NV\n        ' +
      'Website: https://registrar.example\n',
    { outcome: 'registered', expires: null },
  ],
  [
    '.eu, free',
    'nothing-here.eu',
    '% WHOIS nothing-here.eu\nDomain: nothing-here.eu\nScript: LATIN\nStatus: AVAILABLE\n',
    { outcome: 'not_found' },
  ],
  [
    '.be, taken',
    'example.be',
    'Domain:\texample.be\nStatus:\tNOT AVAILABLE\nRegistered:\tTue Dec 12 2000\n',
    { outcome: 'registered', expires: null },
  ],
  [
    '.uk',
    'example.co.uk',
    `
    Domain name:
        example.co.uk

    Registrar:
        Example Registrar Ltd t/a Example [Tag = EXAMPLE]
        URL: https://registrar.example

    Relevant dates:
        Registered on: 14-Feb-1999
        Expiry date:  14-Feb-2027
        Last updated:  13-Jan-2026

    Registration status:
        Registered until expiry date.
`,
    {
      outcome: 'registered',
      expires: '2027-02-14T00:00:00Z',
      registrar: 'Example Registrar Ltd t/a Example [Tag = EXAMPLE]',
    },
  ],
  [
    '.uk, free',
    'nothing-here.co.uk',
    '\n    No match for "nothing-here.co.uk".\n\n    This domain name has not been registered.\n',
    { outcome: 'not_found' },
  ],
  [
    '.ru',
    'example.ru',
    '% TCI Whois Service. Terms of use:\n\ndomain:        EXAMPLE.RU\nnserver:       ns1.example.ru.\nstate:     ' +
      '    REGISTERED, DELEGATED, VERIFIED\nregistrar:     RU-CENTER-RU\ncreated:       ' +
      '1997-09-23T09:45:07Z\npaid-till:     2027-09-30T21:00:00Z\nfree-date:     2027-11-01\nsource:        TCI\n',
    { outcome: 'registered', expires: '2027-09-30T21:00:00Z', registrar: 'RU-CENTER-RU' },
  ],
  [
    '.ru, free',
    'nothing-here.ru',
    '% TCI Whois Service. Terms of use:\n% https://tcinet.ru/documents/whois_ru_rf.pdf\n\nNo entries found for ' +
      'the selected source(s).\n\nLast updated on 2026-11-20T10:01:30Z\n',
    { outcome: 'not_found' },
  ],
  [
    '.jp, in English',
    'example.jp',
    '[ JPRS database provides information on network administration. ]\nDomain Information:\n[Domain Name]       ' +
      '            EXAMPLE.JP\n\n[Registrant]                    Example K.K.\n\n[Created on]                    ' +
      '2001/05/30\n[Expires on]                    2027/05/31\n[Status]                        Active\n',
    { outcome: 'registered', expires: '2027-05-31T00:00:00Z' },
  ],
  [
    '.jp, in Japanese',
    'example.jp',
    '[ドメイン名]                      EXAMPLE.JP\nDomain Information: [ドメイン情報]\n' +
      '[Domain Name]                   EXAMPLE.JP\n[有効期限]                      2027/05/31\n',
    { outcome: 'registered', expires: '2027-05-31T00:00:00Z' },
  ],
  [
    '.it',
    'example.it',
    'Domain:             example.it\nStatus:             ok\nSigned:             no\nCreated:            ' +
      '1999-12-10 00:00:00\nLast Update:        2026-05-07 00:45:42\nExpire Date:        2027-04-21\n\nRegistrar\n ' +
      ' Organization:     Example S.r.l.\n',
    { outcome: 'registered', expires: '2027-04-21T00:00:00Z' },
  ],
  [
    '.it, free',
    'nothing-here.it',
    'Domain:             nothing-here.it\nStatus:             AVAILABLE\n',
    { outcome: 'not_found' },
  ],
  [
    '.fi',
    'example.fi',
    'domain.............: example.fi\nstatus.............: Registered\ncreated............: 30.6.2006 ' +
      '00:00:00\nexpires............: 4.7.2027 10:15:55\n\nRegistrar\n\nregistrar..........: Example Oy\n',
    { outcome: 'registered', expires: '2027-07-04T10:15:55Z', registrar: 'Example Oy' },
  ],
  [
    '.pl',
    'example.pl',
    'DOMAIN NAME:           example.pl\nregistrant type:       organization\ncreated:               2002.09.19 ' +
      '13:00:00\nlast modified:         2026.08.16 12:23:05\nrenewal date:          2027.09.18 14:00:00\noption ' +
      'created:        2025.01.01\noption expiration date:2026.12.01 00:00:00\n',
    { outcome: 'registered', expires: '2027-09-18T14:00:00Z' },
  ],
  [
    '.cz',
    'example.cz',
    '%  (c) 2006-2026 CZ.NIC\n\ndomain:       example.cz\nregistrant:   SB:EXAMPLE\nregistrar:    ' +
      'REG-EXAMPLE\nregistered:   21.07.2000 15:21:00\nexpire:       22.07.2027\n',
    { outcome: 'registered', expires: '2027-07-22T00:00:00Z', registrar: 'REG-EXAMPLE' },
  ],
  [
    '.cz, free',
    'nothing-here.cz',
    '%  (c) 2006-2026 CZ.NIC  https://www.nic.cz\n%\n% Intended use of supplied data and information\n%\n% Data ' +
      'contained in the domain name register may be used for\n%  supervising networks.\n%\n%ERROR:101: no entries ' +
      'found\n%\n% No entries found.\n',
    { outcome: 'not_found' },
  ],
  [
    '.br',
    'example.com.br',
    '% Copyright (c) Nic.br\n\ndomain:      example.com.br\nowner:       Example Ltda\nexpires:     ' +
      '20270518\nstatus:      published\n',
    { outcome: 'registered', expires: '2027-05-18T00:00:00Z' },
  ],
  [
    '.br, free',
    'nothing-here.com.br',
    '% Copyright (c) Nic.br\n\n% No match for nothing-here.com.br\n\n% Security and mail abuse issues should ' +
      'also be addressed to cert.br\n',
    { outcome: 'not_found' },
  ],
  [
    '.tr',
    'example.com.tr',
    '** Domain Name: example.com.tr\nDomain Status: Active\n\n** Registrar:\nOrganization Name\t: Example ' +
      'A.S.\n\n** Additional Info:\nCreated on..............: 2001-Aug-23.\nExpires on..............: ' +
      '2027-Aug-22.\n',
    { outcome: 'registered', expires: '2027-08-22T00:00:00Z' },
  ],
  [
    '.kr',
    'example.kr',
    'query : example.kr\n\n# KOREAN(UTF8)\n\n도메인이름                  : example.kr\n' +
      '사용 종료일                 : 2027. 07. 05.\n\n# ENGLISH\n\nDomain Name                 : example.kr\n' +
      'Registered Date             : 1999. 07. 28.\nExpiration Date             : 2027. 07. 05.\n' +
      'Authorized Agency           : Example(http://registrar.example)\n',
    { outcome: 'registered', expires: '2027-07-05T00:00:00Z' },
  ],
  [
    '.tw',
    'example.com.tw',
    'Domain Name: example.com.tw\n   Domain Status: clientUpdateProhibited\n   Record expires on 2027-12-31 ' +
      '(YYYY-MM-DD)\n   Record created on 2000-08-29 (YYYY-MM-DD)\n\nRegistration Service Provider: Example\n',
    { outcome: 'registered', expires: '2027-12-31T00:00:00Z' },
  ],
  [
    '.cn',
    'example.cn',
    'Domain Name: example.cn\nROID: 20030311s10001s00033735-cn\nDomain Status: ' +
      'clientTransferProhibited\nSponsoring Registrar: Example Co., Ltd.\nRegistration Time: 2003-03-17 ' +
      '12:20:05\nExpiration Time: 2027-03-17 12:48:36\nDNSSEC: unsigned\n',
    { outcome: 'registered', expires: '2027-03-17T12:48:36Z', registrar: 'Example Co., Ltd.' },
  ],
  [
    '.ua',
    'example.ua',
    '% This is the Ukrainian Whois query server #I.\n\ndomain:           example.ua\nregistrar:        ' +
      'ua.example\nstatus:           clientDeleteProhibited\nexpires:          2027-01-01 00:00:00+02\n',
    { outcome: 'registered', expires: '2026-12-31T22:00:00Z' },
  ],
  [
    '.cl',
    'example.cl',
    '%%\n%% This is the NIC Chile Whois server (whois.nic.cl).\n%%\n\nDomain name: example.cl\nRegistrant name: ' +
      'Example\nRegistrar name: NIC Chile\nCreation date: 2002-10-22 17:48:23 CLST\nExpiration date: 2027-11-20 ' +
      '14:48:02 CLST\n',
    { outcome: 'registered', expires: '2027-11-20T17:48:02Z', registrar: 'NIC Chile' },
  ],
  [
    '.fr, free',
    'nothing-here.fr',
    '%%\n%% This is the AFNIC Whois server.\n%%\n%% complete date format: YYYY-MM-DDThh:mm:ssZ\n%%\n%% Rights ' +
      'restricted by copyright.\n%% See https://www.afnic.fr/en/domain-names-and-support/' +
      'everything-there-is-to-know-about-domain-names/find-a-domain-name-or-a-holder-using-whois/\n%%\n%%\n\n' +
      '%% NOT FOUND\n',
    { outcome: 'not_found' },
  ],
  [
    '.io, free',
    'nothing-here.io',
    'Domain not found.\n>>> Last update of WHOIS database: 2026-11-20T10:01:30Z <<<\n\nTerms of Use: Access to ' +
      'WHOIS information is provided to assist persons in determining the contents of a domain name registration ' +
      'record. Queries that exceed the rate limit are refused.\nThe Registry Operator reserves the right to modify ' +
      'these terms.\nAll rights reserved.\nYou agree.\nOne.\nTwo.\nThree.\n',
    { outcome: 'not_found' },
  ],
  [
    '.ch, free',
    'nothing-here.ch',
    'We do not have an entry in our database matching your query.\n',
    { outcome: 'not_found' },
  ],
  ['.hk, free', 'nothing-here.hk', 'The domain has not been registered.\n', { outcome: 'not_found' }],
  ['.nl, free', 'nothing-here.nl', 'nothing-here.nl is free\n', { outcome: 'not_found' }],
  [
    '.kr, free',
    'nothing-here.kr',
    'query : nothing-here.kr\n\n# ENGLISH\n\nThe requested domain was not found in the Registry or ' +
      'Registrar\u2019s WHOIS Server.\n',
    { outcome: 'not_found' },
  ],
  [
    'a registry that repeats an unregistered name',
    'nothing-here.example',
    'Domain: nothing-here.example\n% No entries found\n',
    { outcome: 'not_found' },
  ],
  [
    'a registrar',
    'example.org',
    'Domain Name: example.org\nRegistrar WHOIS Server: whois.registrar.example\nRegistrar Registration ' +
      'Expiration Date: 2027-03-04T05:06:07Z\nRegistrar: Example LLC\n',
    { outcome: 'registered', expires: '2027-03-04T05:06:07Z', registrar: 'Example LLC' },
  ],
  [
    'an internationalised name',
    'xn--bcher-kva.example',
    'domain: bücher.example\nexpires: 2027-01-02\n',
    { outcome: 'registered', expires: '2027-01-02T00:00:00Z' },
  ],
  [
    'an invalid date',
    'example.org',
    'Domain Name: example.org\nExpiry Date: unlimited\n',
    { outcome: 'registered', expires: null },
  ],
  [
    '.org, rate limited',
    'example.org',
    'WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG/WHOIS FOR DETAILS\n',
    { outcome: 'limited' },
  ],
  [
    'a connection limit',
    'example.cc',
    'Your connection limit exceeded. Please slow down and try again later.\n',
    { outcome: 'limited' },
  ],
  [
    '.nz, rate limited',
    'example.nz',
    '440 Request Denied\nToo many requests from this address\n',
    { outcome: 'limited' },
  ],
  ['.it, rate limited', 'example.it', 'Number of allowed queries exceeded.\n', { outcome: 'limited' }],
  ['.tr, rate limited', 'example.com.tr', 'Queried interval is too short.\n', { outcome: 'limited' }],
  [
    'a rate limit that mentions entries',
    'example.si',
    '% Query rate limit exceeded, no entries found.\n',
    { outcome: 'limited' },
  ],
  [
    'another domain',
    'example.org',
    'Domain Name: another.org\nRegistry Expiry Date: 2027-03-04T05:06:07Z\n',
    { outcome: 'unreadable' },
  ],
  [
    'IANA, about an unknown TLD',
    'example.nowhere',
    '% IANA WHOIS server\n% for more information on IANA, visit http://www.iana.org\n% This query returned 0 ' +
      'objects.\n',
    { outcome: 'unreadable' },
  ],
  [
    'a web server',
    'example.org',
    'HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html></html>\n',
    { outcome: 'unreadable' },
  ],
  [
    'a long record that mentions a contact not found',
    'example.org',
    'a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\nremarks: contact not found\n',
    { outcome: 'unreadable' },
  ],
];
for (const [registry, name, text, expected] of ANSWERS) {
  const expiry = expected.expires === undefined ? '' : `, expires ${expected.expires}`;
  test(`${registry}: ${expected.outcome}${expiry}`, (t) => {
    const reading = readWhoisAnswer(text.replaceAll('\n', '\r\n'), name);
    t.is(reading.outcome, expected.outcome);
    if (reading.outcome !== 'registered') return;
    t.is(
      reading.expiresAt === null ? null : new Date(reading.expiresAt * 1000).toISOString().replace('.000Z', 'Z'),
      expected.expires ?? null,
    );
    if (expected.registrar !== undefined) t.is(reading.registrar, expected.registrar);
    t.is(
      reading.referral === null ? undefined : `${reading.referral.host}:${reading.referral.port}`,
      expected.referral ?? (text.includes('Registrar WHOIS Server') ? 'whois.registrar.example:43' : undefined),
    );
  });
}

const ROOT: readonly [text: string, server: object | null][] = [
  [
    '% IANA WHOIS server\n\nrefer:        whois.verisign-grs.com\n\ndomain:       COM\n\nwhois:        ' +
      'whois.verisign-grs.com\n\nstatus:       ACTIVE\n',
    { host: 'whois.verisign-grs.com', port: 43 },
  ],
  ['domain:       IO\nwhois:        whois.nic.io\n', { host: 'whois.nic.io', port: 43 }],
  ['refer: whois://whois.registry.example:4343/\n', { host: 'whois.registry.example', port: 4343 }],
  ['refer: [2001:db8::1]:4343\n', { host: '2001:db8::1', port: 4343 }],
  ['domain:       GR\nstatus:       ACTIVE\n', null],
  ['refer: not a host\n', { host: 'not', port: 43 }],
  ['refer: :::\n', null],
  ['', null],
];
for (const [text, server] of ROOT) {
  const named = server === null ? 'no server' : JSON.stringify(server);
  test(`the root response ${JSON.stringify(text)} refers to ${named}`, (t) => {
    t.deepEqual(readRootReferral(text), server);
  });
}

test('responses built to slow down patterns are read quickly', (t) => {
  const BYTES = 128 * 1024;
  const answers = [
    ' '.repeat(BYTES),
    `${' '.repeat(BYTES / 2)}x${' '.repeat(BYTES / 2)}x`,
    'is '.repeat(BYTES / 3),
    'limit '.repeat(BYTES / 6),
    `a${'.'.repeat(BYTES)}`,
    `${`k${' '.repeat(480)}x\n`.repeat(BYTES / 490)}`,
    `expires on ${'1'.repeat(BYTES)}x`,
  ];
  const startedAt = performance.now();
  for (const answer of answers) t.not(readWhoisAnswer(answer, 'example.org').outcome, 'registered');
  t.true(performance.now() - startedAt < 20_000);
});

test('the time to read a response grows with its length, not with that of its lines', (t) => {
  const BYTES = 128 * 1024;
  const workMs = (line: string): number => {
    const answer = `${line}\n`.repeat(BYTES / (line.length + 1));
    const triesMs = Array.from({ length: 3 }, () => {
      const before = process.threadCpuUsage();
      t.is(readWhoisAnswer(answer, 'example.org').outcome, 'unreadable');
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1000;
    });
    return Math.min(...triesMs);
  };
  for (const start of ['**', 'expires on', 'k', '[k]', 'expires: 2026-01-01', 'expires: jan']) {
    const [short, long] = [100, 480].map((blanks) => workMs(`${start}${' '.repeat(blanks)}x`));
    t.true(Number(long) < 5 * Number(short) + 20, `${start}: ${short} ms, in long lines ${long} ms`);
  }
});
