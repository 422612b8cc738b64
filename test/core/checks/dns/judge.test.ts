import test from 'ava';
import { dnsQuestionTypes, judgeDns } from '../../../../core/checks/dns/judge.ts';
import type {
  DnsAnswer,
  DnsAnswers,
  DnsQueried,
  DnsFailure,
  DnsNotQueried,
} from '../../../../core/checks/dns/observation.ts';
import type { DnsRecordSpec } from '../../../../core/monitors/monitor.ts';

const records = (...found: string[]): DnsAnswer => ({ outcome: 'records', records: found });
const failed = (failure: DnsFailure): DnsAnswer => ({ outcome: 'failed', failure });
const NXDOMAIN: DnsAnswer = { outcome: 'nxdomain' };

function queried(answers: DnsAnswers, overrides: Partial<DnsQueried> = {}): DnsQueried {
  return {
    type: 'dns',
    startedAt: 0,
    latencyMs: 1,
    ownResolversWork: null,
    outcome: 'queried',
    server: null,
    answers,
    opinions: [],
    ...overrides,
  };
}

function judge(observation: DnsQueried | DnsNotQueried, ...specs: DnsRecordSpec[]) {
  return judgeDns({ target: { checkSpec: { dns: { records: specs } } }, observation });
}

const A = (mode: DnsRecordSpec['mode'], ...expected: string[]): DnsRecordSpec => ({
  type: 'A',
  mode,
  ...(expected.length > 0 && { expected }),
});

/** Mode and expected values, the records found, and whether they match. */
const MODES: [DnsRecordSpec, string[], boolean][] = [
  [A('equals', '192.0.2.1'), ['192.0.2.1'], true],
  [A('equals', '192.0.2.2', '192.0.2.1'), ['192.0.2.1', '192.0.2.2'], true],
  [A('equals', '192.0.2.1', '192.0.2.1'), ['192.0.2.1'], true],
  [A('equals', '192.0.2.1'), ['192.0.2.1', '192.0.2.2'], false],
  [A('equals', '192.0.2.1', '192.0.2.2'), ['192.0.2.1'], false],
  [A('equals', '192.0.2.1'), [], false],
  [A('contains', '192.0.2.1'), ['192.0.2.1', '192.0.2.2'], true],
  [A('contains', '192.0.2.1', '192.0.2.3'), ['192.0.2.1', '192.0.2.2'], false],
  [A('any', '192.0.2.1', '192.0.2.3'), ['192.0.2.1', '192.0.2.2'], true],
  [A('any', '192.0.2.3'), ['192.0.2.1', '192.0.2.2'], false],
  [A('any', '192.0.2.3'), [], false],
  [A('exists'), ['192.0.2.1'], true],
  [A('exists'), [], false],
  [A('absent'), [], true],
  [A('absent'), ['192.0.2.1'], false],
  [{ type: 'MX', mode: 'equals', expected: ['10  MAIL.example.com.'] }, ['10 mail.example.com'], true],
  [{ type: 'AAAA', mode: 'equals', expected: ['2001:DB8::0:1'] }, ['2001:db8::1'], true],
  [
    { type: 'SOA', mode: 'equals', expected: ['ns1.example.com'] },
    ['ns1.example.com hostmaster.example.com 1 2 3 4 5'],
    true,
  ],
  [{ type: 'TXT', mode: 'contains', expected: ['"v=spf1 -all"'] }, ['other', 'v=spf1 -all'], true],
];
for (const [spec, found, isGood] of MODES) {
  test(
    `${spec.type} ${spec.mode} ${spec.expected?.join(', ') ?? ''} is ${isGood ? 'met' : 'not met'} by ` +
      `${found.join(', ') || 'nothing'}`,
    (t) => {
      const judgement = judge(queried({ [spec.type]: records(...found) }), spec);
      t.like(
        judgement,
        isGood ? { verdict: 'up', cause: null, reason: null } : { verdict: 'down', cause: 'dns_mismatch' },
      );
    },
  );
}

test('a mismatch reports the expected and the actual records', (t) => {
  const got = queried({ A: records('192.0.2.2') });
  t.is(judge(got, A('equals', '192.0.2.1')).reason, 'A: expected exactly "192.0.2.1", got "192.0.2.2"');
  t.is(judge(got, A('absent')).reason, 'A: expected no record, got "192.0.2.2"');
  t.is(judge(queried({ A: records() }), A('exists')).reason, 'A: expected a record, got none');
  const many = records(...Array.from({ length: 8 }, (_, index) => `192.0.2.${index}`));
  t.regex(judge(queried({ A: many }), A('any', '198.51.100.1')).reason ?? '', /"192\.0\.2\.4" and 3 more$/);
});

test('a nonexistent name is down unless all records are expected to be absent', (t) => {
  t.like(judge(queried({ A: NXDOMAIN }), A('exists')), { verdict: 'down', cause: 'dns_nxdomain' });
  t.is(judge(queried({ A: NXDOMAIN }), A('absent')).verdict, 'up');
  t.like(judge(queried({ A: NXDOMAIN, MX: NXDOMAIN }), A('absent'), { type: 'MX', mode: 'exists' }), {
    verdict: 'down',
    cause: 'dns_nxdomain',
  });
});

test('without expected records an address of either family is enough', (t) => {
  t.is(judge(queried({ A: records(), AAAA: records('2001:db8::1') })).verdict, 'up');
  t.is(judge(queried({ A: records('192.0.2.1'), AAAA: failed('timeout') })).verdict, 'up');
  t.deepEqual(judge(queried({ A: records(), AAAA: records() })), {
    verdict: 'down',
    cause: 'dns_mismatch',
    reason: 'The name has no A or AAAA record',
  });
  t.like(judge(queried({ A: NXDOMAIN, AAAA: failed('timeout') })), { verdict: 'down', cause: 'dns_nxdomain' });
  t.like(judge(queried({ A: records(), AAAA: failed('servfail') }, { server: 'ns1.example' })), {
    verdict: 'down',
    cause: 'dns_error',
  });
});

test('the queried types follow from the expected records, or else from the name', (t) => {
  const types = (target: string, ...specs: DnsRecordSpec[]) =>
    dnsQuestionTypes({ target, checkSpec: { dns: { records: specs } } });
  t.deepEqual(types('example.com'), ['A', 'AAAA']);
  t.deepEqual(types('192.0.2.1'), ['PTR']);
  t.deepEqual(types('dns://192.0.2.53/1.2.0.192.in-addr.arpa'), ['PTR']);
  t.deepEqual(types('example.com', A('exists'), { type: 'MX', mode: 'exists' }, A('any', '192.0.2.1')), ['A', 'MX']);
  t.deepEqual(dnsQuestionTypes({ target: 'example.com', checkSpec: {} }), ['A', 'AAAA']);
});

for (const failure of ['timeout', 'servfail', 'refused', 'unreachable', 'invalid'] as const) {
  test(`${failure} of a server named in the target is down`, (t) => {
    const judgement = judge(queried({ A: failed(failure) }, { server: 'ns1.example.com' }), A('exists'));
    t.like(judgement, { verdict: 'down', cause: failure === 'timeout' ? 'timeout' : 'dns_error' });
    t.regex(judgement.reason ?? '', /^The server "ns1\.example\.com" /);
  });

  test(`${failure} of our own resolvers is no vote unless they are known to work`, (t) => {
    for (const ownResolversWork of [false, null])
      t.is(judge(queried({ A: failed(failure) }, { ownResolversWork }), A('exists')).verdict, 'none');
  });

  test(
    `${failure} of our own resolvers while they work otherwise is ` +
      `${failure === 'timeout' || failure === 'servfail' ? 'down' : 'no vote'}`,
    (t) => {
      const { verdict } = judge(queried({ A: failed(failure) }, { ownResolversWork: true }), A('absent'));
      t.is(verdict, failure === 'timeout' || failure === 'servfail' ? 'down' : 'none');
    },
  );
}

test('a known mismatch takes precedence over a failed query', (t) => {
  const observation = queried({ A: failed('refused'), MX: records() });
  t.like(judge(observation, A('exists'), { type: 'MX', mode: 'exists' }), { verdict: 'down', cause: 'dns_mismatch' });
});

test('a server that cannot be resolved is down, unless our own lookup failed', (t) => {
  const notQueried = (cause: DnsNotQueried['cause'], ownResolversWork: boolean | null) =>
    judge({ type: 'dns', startedAt: 0, latencyMs: 1, outcome: 'not_queried', cause, reason: 'why', ownResolversWork })
      .verdict;
  t.is(notQueried('dns_nxdomain', null), 'down');
  t.is(notQueried('dns_error', true), 'down');
  t.is(notQueried('timeout', false), 'none');
  t.is(notQueried('blocked_target', null), 'none');
  t.is(notQueried('unsupported', null), 'none');
});

const opinion = (resolver: string, answer: DnsAnswer) => ({ resolver, answers: { A: answer } });
const GOOD = records('192.0.2.1');
const BAD = records('192.0.2.2');
const EXPECTS = A('equals', '192.0.2.1');

test("a resolver with another verdict degrades the monitor, and each resolver's result is reported", (t) => {
  const opinions = [opinion('1.1.1.1', GOOD), opinion('8.8.8.8', BAD), opinion('9.9.9.9', GOOD)];
  t.deepEqual(judge(queried({ A: GOOD }, { opinions }), EXPECTS), {
    verdict: 'degraded',
    cause: 'dns_disagree',
    reason:
      'Resolvers disagree. ours: as expected; 1.1.1.1: as expected; 8.8.8.8: A: expected exactly "192.0.2.1", ' +
      'got "192.0.2.2"; 9.9.9.9: as expected',
  });
});

test('different answers that all meet the expectation are no disagreement', (t) => {
  const opinions = [
    opinion('1.1.1.1', GOOD),
    opinion('8.8.8.8', BAD),
    opinion('9.9.9.9', records('192.0.2.1', '192.0.2.2')),
  ];
  t.is(judge(queried({ A: GOOD }, { opinions }), A('any', '192.0.2.1', '192.0.2.2')).verdict, 'up');
  t.is(judge(queried({ A: GOOD }, { opinions })).verdict, 'up');
});

test('a resolver that cannot resolve the name disagrees, one that cannot be queried does not', (t) => {
  const others = (third: DnsAnswer) => ({
    opinions: [opinion('1.1.1.1', GOOD), opinion('8.8.8.8', GOOD), opinion('9.9.9.9', third)],
  });
  t.is(judge(queried({ A: GOOD }, others(failed('servfail'))), EXPECTS).verdict, 'degraded');
  t.is(judge(queried({ A: GOOD }, others(NXDOMAIN)), EXPECTS).verdict, 'degraded');
  for (const failure of ['timeout', 'refused', 'unreachable', 'invalid'] as const)
    t.is(judge(queried({ A: GOOD }, others(failed(failure))), EXPECTS).verdict, 'up');
});

test('fewer than two responding resolvers are no cross-check', (t) => {
  const opinions = [
    opinion('1.1.1.1', BAD),
    opinion('8.8.8.8', failed('timeout')),
    opinion('9.9.9.9', failed('unreachable')),
  ];
  t.is(judge(queried({ A: GOOD }, { opinions }), EXPECTS).verdict, 'up');
});

test('a fault found by all resolvers is down, one found only by our own is degraded', (t) => {
  const all = (answer: DnsAnswer) => ({
    opinions: ['1.1.1.1', '8.8.8.8', '9.9.9.9'].map((resolver) => opinion(resolver, answer)),
  });
  t.like(judge(queried({ A: BAD }, all(records('198.51.100.1'))), EXPECTS), { verdict: 'down', cause: 'dns_mismatch' });
  t.like(judge(queried({ A: BAD }, all(GOOD)), EXPECTS), { verdict: 'degraded', cause: 'dns_disagree' });
  t.is(judge(queried({ A: failed('refused') }, all(GOOD)), EXPECTS).verdict, 'none');
});

test('a named server that fails is down, even if other resolvers still answer', (t) => {
  const opinions = ['1.1.1.1', '8.8.8.8', '9.9.9.9'].map((resolver) => opinion(resolver, GOOD));
  t.like(judge(queried({ A: failed('timeout') }, { server: '192.0.2.53', opinions }), EXPECTS), {
    verdict: 'down',
    cause: 'timeout',
  });
});
