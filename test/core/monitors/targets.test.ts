import test from 'ava';
import * as fc from 'fast-check';
import { MONITOR_TYPES, type MonitorType } from '../../../core/monitors/monitor.ts';
import { parseTarget } from '../../../core/monitors/targets.ts';

const GOOD: Record<MonitorType, string[]> = {
  http: [
    'https://example.com',
    'HTTP://Example.com:8080/a?b=c#d',
    'http://127.0.0.1:3000/',
    'http://[::1]/',
    'https://münchen.example/ä',
    'http://localhost:81',
    'http://a_b.example/',
  ],
  tcp: ['example.com:5432', '127.0.0.1:1', '[2001:db8::1]:65535', 'localhost:80'],
  udp: ['example.com:53', '[::1]:53'],
  icmp: ['example.com', '192.0.2.1', '2001:db8::1', '[2001:db8::1]', 'localhost'],
  dns: [
    'example.com',
    'example.com.',
    '_dmarc.example.com',
    'münchen.example',
    '192.0.2.1',
    '2001:db8::1',
    '1.2.0.192.in-addr.arpa',
    'dns://192.0.2.53/example.com',
    'DNS://ns1.example.com:5353/_sip._udp.example.com',
    'dns://[2001:db8::53]/example.com',
    'dns://[2001:db8::53]:5353/192.0.2.1',
  ],
  domain: ['example.com', 'www.example.co.uk', 'EXAMPLE.com.'],
  vendor: ['github', 'GitHub', 'aws', 'https://www.githubstatus.com/'],
  heartbeat: ['', 'anything at all'],
};

const BAD: Record<Exclude<MonitorType, 'heartbeat'>, string[]> = {
  http: [
    'example.com',
    'ftp://example.com',
    'http:example.com',
    'http://',
    'http:///x',
    ' http://example.com',
    'http://exa mple.com/',
    'http://example.com:99999/',
    'http://example.com:0/',
    'http://user:pw@example.com/',
    'http://example.com/\n',
    'javascript:alert(1)',
  ],
  tcp: [
    'example.com',
    'example.com:0',
    'example.com:65536',
    '::1:80',
    'http://example.com:80',
    ':80',
    'example.com:80x',
    '[::1]',
    '127.1:80',
  ],
  udp: ['example.com', 'example.com:', 'a b:53'],
  icmp: [
    'example.com:80',
    'http://example.com',
    '256.1.1.1',
    '0x7f.1',
    '127.1',
    '-a.example',
    '',
    'a..b',
    `${'a'.repeat(64)}.example`,
  ],
  dns: [
    'exa mple.com',
    'example.com/x',
    `${'a.'.repeat(130)}com`,
    '256.1.1.1',
    '127.1',
    '[2001:db8::1]',
    'example.com:53',
    '192.0.2.53:53',
    'dns:example.com',
    'dns:///example.com',
    'dns://192.0.2.53',
    'dns://192.0.2.53/',
    'dns://192.0.2.53/a/b',
    'dns://192.0.2.53/example.com?type=A',
    'dns://192.0.2.53:0/a.example',
    'dns://192.0.2.53:65536/a.example',
    'dns://2001:db8::53/a.example',
    'dns://[192.0.2.53]/a.example',
    'dns://user@192.0.2.53/a.example',
    'dns://127.1/a.example',
    'dns://192.0.2.53/exa mple.com',
    'https://example.com/',
  ],
  domain: ['com', 'localhost', '192.0.2.1', 'https://example.com', 'example.com:443'],
  vendor: ['Not A Vendor', 'ftp://status.example.com', '', '-x'],
};

for (const [type, targets] of Object.entries(GOOD) as [MonitorType, string[]][]) {
  for (const target of targets) {
    test(`${type} accepts ${JSON.stringify(target)} unchanged`, (t) =>
      t.deepEqual(parseTarget(type, target), { ok: true, value: target }));
  }
}

for (const [type, targets] of Object.entries(BAD) as [MonitorType, string[]][]) {
  for (const target of targets) {
    test(`${type} refuses ${JSON.stringify(target.slice(0, 80))} with a message about target`, (t) => {
      const parsed = parseTarget(type, target);
      t.false(parsed.ok);
      t.regex(parsed.ok ? '' : parsed.message, /^target must /);
    });
  }
}

test('a target of 2048 characters is accepted, one of 2049 is not', (t) => {
  const url = `https://example.com/${'a'.repeat(2028)}`;
  t.true(parseTarget('http', url).ok);
  t.deepEqual(parseTarget('http', `${url}a`), {
    ok: false,
    message: 'target must have at most 2048 characters, got 2049',
  });
  const emoji = `https://example.com/${'😀'.repeat(2028)}`;
  t.true(parseTarget('http', emoji).ok, 'an emoji is one character');
  t.like(parseTarget('http', `${emoji}a`), { message: 'target must have at most 2048 characters, got 2049' });
});

for (const type of ['http', 'vendor'] as const) {
  test(`${type} refuses a URL with credentials and does not repeat them`, (t) => {
    const parsed = parseTarget(type, 'https://user:hunter2@example.com/');
    t.regex(parsed.ok ? '' : parsed.message, /^target must not contain a username or password: /);
    t.false(!parsed.ok && parsed.message.includes('hunter2'));
  });
}

test('any text is either accepted unchanged or refused with a message, for every type', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.constantFrom(...MONITOR_TYPES),
        fc.oneof(fc.string(), fc.webUrl(), fc.domain()),
        (type, target) => {
          const parsed = parseTarget(type, target);
          return parsed.ok ? parsed.value === target : parsed.message.startsWith('target must ');
        },
      ),
    ),
  );
});
