import test from 'ava';
import * as fc from 'fast-check';
import {
  DNS_RECORD_TYPES,
  isDnsRecord,
  normaliseDnsRecord,
  parseDnsRecord,
  type DnsRecordType,
} from '../../../../core/checks/dns/records.ts';

const SAME: [DnsRecordType, string, string][] = [
  ['A', ' 192.0.2.1 ', '192.0.2.1'],
  ['AAAA', '2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['AAAA', '::ffff:192.0.2.1', '::ffff:c000:201'],
  ['CNAME', 'Host.Example.COM.', 'host.example.com'],
  ['CNAME', '0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
  ['CNAME', 'münchen.example', 'xn--mnchen-3ya.example'],
  ['NS', 'ns1.example.com.', 'ns1.example.com'],
  ['PTR', 'HOST.example.com', 'host.example.com'],
  ['MX', '10   Mail.Example.com.', '10 mail.example.com'],
  ['MX', '010\tmail.example.com', '10 mail.example.com'],
  ['MX', '0 .', '0 .'],
  ['TXT', 'v=spf1   -all', 'v=spf1 -all'],
  ['TXT', '"v=spf1 -all"', 'v=spf1 -all'],
  ['TXT', '"v=DKIM1; p=MIIB" "IjAN"', 'v=DKIM1; p=MIIBIjAN'],
  ['TXT', String.raw`"say \"hi\" \\ there"`, String.raw`say "hi" \ there`],
  ['TXT', 'a "b" c', 'a "b" c'],
  ['TXT', '""', ''],
  ['TXT', 'Case Stays', 'Case Stays'],
  [
    'SOA',
    'NS1.example.com. Hostmaster.example.com. 2026010101 7200 3600 1209600 300',
    'ns1.example.com hostmaster.example.com 2026010101 7200 3600 1209600 300',
  ],
  ['SOA', 'ns1.example.com', 'ns1.example.com'],
  ['SRV', '10 5 5060 SIP.example.com.', '10 5 5060 sip.example.com'],
  ['CAA', '0 issue "LetsEncrypt.org"', '0 issue letsencrypt.org'],
  ['CAA', '128 ISSUE letsencrypt.org;validationmethods=dns-01', '128 issue letsencrypt.org; validationmethods=dns-01'],
  ['CAA', '0 issue ";"', '0 issue ;'],
  ['CAA', '0 iodef "mailto:a@example.com"', '0 iodef mailto:a@example.com'],
];
for (const [type, text, normal] of SAME) {
  test(`as ${type}, ${JSON.stringify(text)} is normalized to ${JSON.stringify(normal)}`, (t) =>
    t.deepEqual(parseDnsRecord(type, text), { ok: true, value: normal }));
}

const IMPOSSIBLE: [DnsRecordType, ...string[]][] = [
  ['A', 'example.com', '2001:db8::1', '192.0.2', '192.0.2.01', '256.0.0.1', '192.0.2.1/24'],
  ['AAAA', 'example.com', '192.0.2.1', '2001:db8::g', '[2001:db8::1]', '1:2:3'],
  ['CNAME', '192.0.2.1', '2001:db8::1', 'two words', 'a..b', `${'a'.repeat(64)}.example`, `${'a.'.repeat(127)}com`],
  ['NS', '192.0.2.1', ''],
  ['PTR', '192.0.2.1'],
  [
    'MX',
    'mail.example.com',
    '10',
    '65536 mail.example.com',
    '-1 mail.example.com',
    '10 192.0.2.1',
    '10 mail.example.com 20',
  ],
  ['SOA', 'ns1.example.com hostmaster.example.com later', 'a b 1 2 3 4 5 6', '192.0.2.1', 'a b 4294967296'],
  ['SRV', 'sip.example.com', '10 5 sip.example.com', '10 5 65536 sip.example.com', '10 5 5060 192.0.2.1'],
  ['CAA', 'letsencrypt.org', '0 issue', '256 issue letsencrypt.org', '0 is-sue x'],
];
for (const [type, ...texts] of IMPOSSIBLE) {
  for (const text of texts) {
    test(`${JSON.stringify(text.slice(0, 60))} is not a valid ${type} record`, (t) =>
      t.false(parseDnsRecord(type, text).ok));
  }
}

test('an SOA record is compared by the expected fields only', (t) => {
  const record = 'ns1.example.com hostmaster.example.com 1 2 3 4 5';
  t.true(isDnsRecord('SOA', { record, expected: 'ns1.example.com' }));
  t.true(isDnsRecord('SOA', { record, expected: 'ns1.example.com hostmaster.example.com 1' }));
  t.false(isDnsRecord('SOA', { record, expected: 'ns1.example.co' }));
  t.false(isDnsRecord('SOA', { record, expected: 'ns1.example.com hostmaster.example.com 2' }));
  t.false(isDnsRecord('TXT', { record: 'a b', expected: 'a' }));
});

test('a record that is invalid for its type is left unchanged', (t) => {
  t.is(normaliseDnsRecord('PTR', 'two words'), 'two words');
});

test('normalization is idempotent, except for quoted texts', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.constantFrom(...DNS_RECORD_TYPES),
        fc.oneof(fc.string(), fc.domain(), fc.ipV4(), fc.ipV6()),
        (type, text) => {
          const first = parseDnsRecord(type, text);
          return !first.ok || first.value.includes('"') || normaliseDnsRecord(type, first.value) === first.value;
        },
      ),
    ),
  );
});

test('an IPv6 address has the same normal form in either case', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const read = [address, address.toUpperCase()].map((text) => parseDnsRecord('AAAA', text));
        return read.every((one) => one.ok && one.value === (read[0]?.ok ? read[0].value : null));
      }),
    ),
  );
});
