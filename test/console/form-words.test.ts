import test from 'ava';
import { Failure } from '../../console/client/answer.ts';
import { emptyDraft, isWatched, unlisted, withComponent, type Draft } from '../../console/pages/monitor-form/draft.ts';
import {
  describeDown,
  describeTimeout,
  latestNotice,
  sayDuration,
  suggestName,
} from '../../console/pages/monitor-form/judge.ts';
import { defaultsOf, problemsOf } from '../../console/pages/monitor-form/problems.ts';
import { RECORDS, TYPE_ORDER, opsOf } from '../../console/pages/monitor-form/words.ts';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { DNS_RECORD_TYPES, parseDnsRecord } from '../../core/checks/dns/records.ts';
import { OPS_BY_SOURCE } from '../../core/checks/http/assertions.ts';
import * as core from '../../core/monitors/defaults.ts';
import type { MonitorBody } from '../../core/monitors/input/fields.ts';
import { readMonitorCreate } from '../../core/monitors/input/read.ts';
import { ASSERTION_SOURCES, MONITOR_TYPES, type MonitorType } from '../../core/monitors/monitor.ts';
import { CONTEXT } from '../core/monitors/input/context.ts';

type Listed = Parameters<typeof isWatched>[0];

const VENDORS = [{ id: 'github', name: 'GitHub', page_url: 'https://www.githubstatus.com' }];

const draftWith = (type: MonitorType, part: Partial<Draft> = {}): Draft => ({ ...emptyDraft(type), ...part });

test('the defaults that the form shows are those that the service applies', (t) => {
  for (const type of MONITOR_TYPES) {
    for (const { minIntervalSeconds } of Object.values(PLAN_LIMITS)) {
      for (const interval of ['', '90', '7200']) {
        const shown = defaultsOf(draftWith(type, { interval }), {
          minInterval: minIntervalSeconds,
          sharedLocations: 3,
        });
        const seconds = interval === '' ? shown.interval : Number(interval);
        const standard = core.defaultsOf(type, minIntervalSeconds);
        t.deepEqual(
          {
            ...shown,
            method: shown.method || null,
            expectedStatus: shown.expectedStatus || null,
            warnDays: type === 'domain' ? shown.warnDays : 30,
          },
          {
            interval: standard.intervalSeconds,
            timeout: core.defaultTimeoutMs(seconds),
            method: standard.method,
            expectedStatus: standard.expectedStatus,
            failures: standard.downAfterFailures,
            successes: standard.upAfterSuccesses,
            quorum: core.defaultDownMinSources(type, 3),
            grace: core.defaultGraceSeconds(type, seconds),
            warnDays: core.DEFAULT_WARN_DAYS,
          },
        );
      }
    }
  }
});

test('the form offers all monitor types and assertion operators of the service, and valid example DNS records', (t) => {
  t.deepEqual(TYPE_ORDER.toSorted(), MONITOR_TYPES.toSorted());
  for (const source of ASSERTION_SOURCES)
    t.deepEqual(opsOf(source).toSorted(), OPS_BY_SOURCE[source].toSorted(), source);
  for (const type of DNS_RECORD_TYPES) t.true(parseDnsRecord(type, RECORDS[type]).ok, type);
});

test('texts on downtime, alert delay, timeout and suggested name follow the fields of the form', (t) => {
  const three = { minInterval: 1, sharedLocations: 3 };
  t.is(
    describeDown(draftWith('http'), three),
    'Down when 2 of 3 locations agree, each after 2 failed checks in a row.',
  );
  t.is(
    describeDown(draftWith('http', { quorum: '3' }), three),
    'Down when all 3 locations see 2 failed checks in a row.',
  );
  t.is(
    describeDown(draftWith('tcp', { sources: ['a'], failures: '1' }), three),
    'Down after one failed check from its only location.',
  );
  t.is(describeDown(draftWith('dns'), three), 'Down after 2 failed checks in a row.');
  t.is(describeDown(draftWith('http', { failures: 'x' }), three), null);
  t.is(latestNotice(draftWith('http'), three), 90);
  t.is(latestNotice(draftWith('heartbeat', { interval: '86400', grace: '0' }), three), 86_400);
  const { heartbeat } = draftWith('heartbeat');
  const scheduled = { interval: '60', grace: '600', heartbeat: { ...heartbeat, cron: '0 2 * * *' } };
  t.is(latestNotice(draftWith('heartbeat', scheduled), three), 600, 'after the scheduled run');
  t.is(latestNotice(draftWith('http', { interval: 'x' }), three), null);
  t.is(latestNotice(draftWith('http', { interval: '5999940' }), three), null, 'longer than the API accepts');
  t.is(latestNotice(draftWith('http', { interval: '1' }), three), 2.5, 'including a timeout of half a second');
  t.is(describeTimeout(draftWith('http', { interval: '1' }), three), 'Each check times out after 0.5 s, the default.');
  t.is(describeTimeout(draftWith('dns'), three), 'Each check times out after 10 s, the default.');
  t.is(describeTimeout(draftWith('tcp', { timeout: '1250' }), three), 'Each check times out after 1.25 s.');
  t.is(describeTimeout(draftWith('http', { timeout: '20000' }), three), null);
  t.is(describeTimeout(draftWith('heartbeat'), three), null);
  t.deepEqual([90, 3600, 103_680, 0, 2.5, 0.007, 61.2, 59.9].map(sayDuration), [
    '1 min 30 s',
    '1 h',
    '1 d 4 h 48 min',
    '0 s',
    '2.5 s',
    '0.007 s',
    '1 min 2 s',
    '1 min',
  ]);
  t.deepEqual(
    [
      suggestName({ type: 'http', target: 'https://a.example/' }, VENDORS),
      suggestName({ type: 'http', target: 'https://a.example:8080/b?c' }, VENDORS),
      suggestName({ type: 'tcp', target: 'a.example:25' }, VENDORS),
      suggestName({ type: 'vendor', target: 'github' }, VENDORS),
    ],
    ['a.example', 'a.example:8080/b', 'a.example:25', 'GitHub'],
  );
});

/** Returns the problems that the service finds in a body, as the form shows them. */
function problems(body: MonitorBody & { name: string }, draft = emptyDraft('http')) {
  const read = readMonitorCreate(body, CONTEXT);
  if (read.ok) throw new Error('The service takes it');
  return problemsOf(new Failure(read.problems.map(({ message }) => message).join('; '), { status: 400 }), draft);
}

test('errors of the service appear at their fields, without API field names', (t) => {
  t.deepEqual(problems({ name: 'x', target: 'a b', interval_seconds: 10, timeout_ms: 10_000, down_min_sources: 4 }), {
    byField: {
      target: 'Must be a URL with http or https, such as https://example.com/health, for http monitors',
      timeout_ms: 'The service does not accept this value',
      down_min_sources: 'Must be a whole number from 1 to 3 (the number of its agents)',
    },
    rest: [],
  });
  t.deepEqual(problems({ name: 'x', type: 'vendor', target: 'githup' }, emptyDraft('vendor')).byField, {
    target: 'Unknown vendor: enter the URL of its status page; did you mean github?',
  });
  t.deepEqual(
    problems({
      name: 'x',
      check_spec: {
        assertions: [
          { source: 'text_body', op: 'contains', value: '' },
          { source: 'json_body', op: 'exists' },
        ],
      },
    }).byField,
    { 'check_spec.assertions[1].path': 'The service does not accept this value' },
  );
  t.deepEqual(
    problems(
      {
        name: 'x',
        type: 'dns',
        check_spec: { dns: { records: [{ type: 'A', mode: 'equals', expected: ['192.0.2.1', 'here'] }] } },
      },
      draftWith('dns', {
        dns: { records: [{ type: 'A', mode: 'equals', expected: ['', '192.0.2.1', 'here'] }], crossCheck: null },
      }),
    ).byField,
    { 'check_spec.dns.records[0].expected[2]': 'Must be an IPv4 address such as 192.0.2.1 for A' },
  );
  const headers = [
    { name: 'a', value: '1', kind: 'plain', isStored: false },
    { name: 'X-Bad', value: '\n', kind: 'secret', isStored: false },
  ] as const;
  t.deepEqual(
    problemsOf(
      new Failure(
        'check_spec.request.secretHeaders.X-Bad must be a header value of at most 8192 characters without line ' +
          'breaks (RFC 9110), got a different value',
        { status: 400 },
      ),
      draftWith('http', { request: { ...emptyDraft('http').request, headers } }),
    ).byField,
    {
      'headers[1]': 'Must be a header value of at most 8192 characters without line breaks (RFC 9110)',
    },
  );
  t.deepEqual(
    problemsOf(
      new Failure('this plan has 20 monitors at most; delete one', { status: 403, requestId: 'req_1' }),
      emptyDraft('http'),
    ),
    { byField: {}, rest: ['This plan has 20 monitors at most; delete one (request req_1)'] },
  );
});

test('components are selected by name, or by id if names clash, regardless of case', (t) => {
  const [api, eu, us] = [
    { id: 'a', name: 'API' },
    { id: 'eu', name: 'Storage' },
    { id: 'us', name: 'storage' },
  ].map((each) => ({ ...each, state: 'operational' as const })) as [Listed, Listed, Listed];
  const listed = [api, eu, us];
  const turn = (component: Listed, watched: readonly string[], isOn: boolean) =>
    withComponent(component, { listed, watched, isOn });
  t.deepEqual(turn(api, [''], true), ['API']);
  t.deepEqual(turn(us, ['API'], true), ['API', 'us']);
  t.deepEqual(turn(api, ['A', 'us', 'api'], false), ['us']);
  t.deepEqual([isWatched(eu, ['us']), isWatched(us, ['US']), isWatched(api, ['Api '])], [false, true, true]);
  t.deepEqual(unlisted(['api', 'eu', 'Pages'], listed), ['Pages']);
});
