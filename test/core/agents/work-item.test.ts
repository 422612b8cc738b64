import test from 'ava';
import { array, assert, boolean, constantFrom, integer, oneof, property, string, uint8Array } from 'fast-check';
import type { WorkItem } from '../../../core/agents/wire.ts';
import {
  besideSecrets,
  checkTargetOf,
  workItemOf,
  workSecretsOf,
  type AssignedMonitor,
} from '../../../core/agents/work-item.ts';
import { judgeUdp } from '../../../core/checks/transport/observation.ts';
import { decodePayload } from '../../../core/checks/transport/payload.ts';
import type { CheckTarget, MonitorSecrets } from '../../../core/monitors/monitor.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

type Settings = AssignedMonitor['settings'];

const HTTP: Settings = {
  type: 'http',
  target: 'https://nas.lan/',
  timeoutMs: 5000,
  method: 'GET',
  expectedStatus: '2xx',
  bodyMatch: null,
  followRedirects: true,
  checkSpec: {},
};
const UDP: Settings = {
  ...HTTP,
  type: 'udp',
  target: 'ntp.lan:123',
  method: null,
  expectedStatus: null,
  followRedirects: false,
};

function itemOf(settings: Settings): WorkItem | null {
  return workItemOf({ monitorId: 'mon_1', intervalSeconds: 30, settings, askedAt: null }, 'agt_1');
}

function payloadOf(payload: string, payloadEncoding?: 'utf8' | 'hex') {
  return itemOf({ ...UDP, checkSpec: { transport: { payload, ...(payloadEncoding && { payloadEncoding }) } } })
    ?.checkSpec.transport;
}

/** Returns the bytes that a probe would send, as hexadecimal digits; null if the payload is invalid. */
function bytesOf(target: CheckTarget | null): string | null {
  const { payload, payloadEncoding = 'utf8', payloadSecret } = target?.checkSpec.transport ?? {};
  const bytes = decodePayload((payloadSecret ? target?.secrets.payload : payload) ?? '', payloadEncoding);
  return bytes.ok ? Buffer.from(bytes.value).toString('hex') : null;
}

test("a work item has its monitor's settings and the source that its results count for", (t) => {
  t.deepEqual(itemOf(HTTP), {
    monitorId: 'mon_1',
    sourceKey: 'agt_1',
    type: 'http',
    target: 'https://nas.lan/',
    intervalSeconds: 30,
    timeoutMs: 5000,
    method: 'GET',
    expectedStatus: '2xx',
    followRedirects: true,
    checkSpec: {},
  });
});

test('monitor types that agents do not check yield no work item', (t) => {
  for (const type of ['dns', 'domain', 'vendor', 'heartbeat'] as const) t.is(itemOf({ ...HTTP, type }), null);
});

test('a body match becomes the first assertion', (t) => {
  const slow = { source: 'response_time', op: 'lt', value: '500' } as const;
  const match = { source: 'text_body', op: 'contains', value: 'ok' } as const;
  t.deepEqual(itemOf({ ...HTTP, bodyMatch: 'ok', checkSpec: { assertions: [slow] } })?.checkSpec, {
    assertions: [match, slow],
  });
  t.deepEqual(itemOf({ ...HTTP, bodyMatch: 'ok' })?.checkSpec, { assertions: [match] });
  t.deepEqual(itemOf({ ...HTTP, bodyMatch: '' })?.checkSpec, {});
});

test('a work item has only the settings of its type', (t) => {
  const everything = {
    request: { body: 'x' },
    assertions: [],
    transport: { expect: 'x' },
    ping: { count: 2 },
    domain: { warnDays: 30 },
    dependencies: ['mon_2'],
  };
  const keys = (type: Settings['type']) =>
    Object.keys(itemOf({ ...HTTP, type, checkSpec: everything })?.checkSpec ?? {});
  t.deepEqual(
    [keys('http'), keys('tcp'), keys('udp'), keys('icmp')],
    [['request'], ['transport'], ['transport'], ['ping']],
  );
});

const PAYLOADS: readonly (readonly [string, 'utf8' | 'hex' | undefined, object])[] = [
  ['plain', undefined, { payload: 'plain', payloadEncoding: 'utf8' }],
  ['\\r\\n\\t\\\\n', 'utf8', { payload: '\r\n\t\\n', payloadEncoding: 'utf8' }],
  ['\\x00\\xc3\\xa9', 'utf8', { payload: '\u0000\u00e9', payloadEncoding: 'utf8' }],
  ['\\xef\\xbb\\xbfx', 'utf8', { payload: '\ufeffx', payloadEncoding: 'utf8' }],
  ['a\\xff', 'utf8', { payload: '61ff', payloadEncoding: 'hex' }],
  ['\\xc3', 'utf8', { payload: 'c3', payloadEncoding: 'hex' }],
  ['DEADbeef', 'hex', { payload: 'deadbeef', payloadEncoding: 'hex' }],
  ['', undefined, { payload: '', payloadEncoding: 'utf8' }],
];
for (const [payload, encoding, expected] of PAYLOADS) {
  test(`payload ${JSON.stringify(payload)} as ${encoding ?? 'it is'} is sent unescaped`, (t) => {
    t.deepEqual(payloadOf(payload, encoding), expected);
  });
}

test('a payload that is invalid in its encoding yields no work item and no secrets', (t) => {
  t.is(itemOf({ ...UDP, checkSpec: { transport: { payload: '\\q' } } }), null);
  t.is(workSecretsOf({ payload: 'abc' }, { payloadEncoding: 'hex' }), null);
});

test('a work item only flags a secret payload, which is sent with the secrets', (t) => {
  const checkSpec = { transport: { payloadEncoding: 'hex', payloadSecret: true, expect: 'ok' } } as const;
  t.deepEqual(itemOf({ ...UDP, checkSpec })?.checkSpec, { transport: { payloadSecret: true, expect: 'ok' } });
  t.deepEqual(workSecretsOf({ payload: 'FF00' }, checkSpec.transport), { payload: 'ff00', payloadEncoding: 'hex' });
  t.deepEqual(workSecretsOf({ body: 'b', auth: { token: 't' }, secretHeaders: { A: 'x' } }, undefined), {
    body: 'b',
    auth: { token: 't' },
    secretHeaders: { A: 'x' },
  });
});

test('a work item with an unknown type or method yields no check target', (t) => {
  const item = itemOf(HTTP);
  if (item === null) throw new Error('no item');
  t.is(checkTargetOf({ ...item, type: 'quic' as 'http' }, {}), null);
  t.is(checkTargetOf({ ...item, method: 'QUERY' }, {}), null);
});

test('a probe gets the same settings from a work item as from the monitor', (t) => {
  const request = {
    headers: { A: 'b' },
    secretHeaderNames: ['X'],
    auth: { type: 'bearer' },
    body: 'x',
    contentType: 'text/plain',
    traceparent: true,
  } as const;
  const secrets: MonitorSecrets = { secretHeaders: { X: 'y' }, auth: { token: 't' } };
  const settings: Settings = {
    ...HTTP,
    method: 'POST',
    checkSpec: {
      request: { ...request, secretHeaderNames: ['X'] },
      assertions: [{ source: 'text_body', op: 'contains', value: 'ok' }],
    },
  };
  const item = itemOf(settings);
  t.deepEqual(item && checkTargetOf(item, workSecretsOf(secrets, undefined) ?? {}), { ...settings, secrets });
  const ping = {
    ...HTTP,
    type: 'icmp',
    target: 'nas.lan',
    method: null,
    expectedStatus: null,
    checkSpec: { ping: { count: 3, rttDegradedMs: 5 } },
  } as const;
  const pinged = itemOf(ping);
  t.deepEqual(pinged && checkTargetOf(pinged, {}), { ...ping, secrets: {} });
});

const EXPECTATIONS: readonly (readonly [
  payload: string,
  payloadEncoding: 'utf8' | 'hex',
  expect: string,
  expectMode: 'contains' | 'regex',
  reply: string,
  isUp: boolean,
])[] = [
  ['x', 'utf8', '61ff', 'contains', '61ff', true],
  ['x', 'utf8', '61ff', 'contains', '\u0061\u00ff', false],
  ['x\\xff', 'utf8', 'abcd', 'contains', 'abcd', true],
  ['x\\xff', 'utf8', 'abcd', 'contains', '\u00ab\u00cd', false],
  ['x\\xff', 'utf8', '^ab', 'regex', 'abcd', true],
  ['00', 'hex', 'aBcd', 'contains', 'x\u00ab\u00cdx', true],
  ['00', 'hex', 'abcd', 'contains', 'abcd', false],
  ['00', 'hex', '^ab', 'regex', 'abcd', true],
];
for (const [payload, payloadEncoding, expect, expectMode, reply, isUp] of EXPECTATIONS) {
  test(
    `with payload ${payload} as ${payloadEncoding} an agent judges ${JSON.stringify(reply)} by ` +
      `${expectMode} ${expect} as the service does, plain or secret`,
    (t) => {
      const bytes = Buffer.from(reply, 'latin1');
      const observation = {
        type: 'udp',
        startedAt: 0,
        dnsMs: null,
        outcome: 'replied',
        latencyMs: 1,
        reply: bytes.toString(),
        replyBytes: reply,
      } as const;
      const verdictOn = (target: CheckTarget | null) =>
        target && judgeUdp({ target, observation, search: (pattern, text) => new RegExp(pattern).test(text) }).verdict;
      for (const payloadSecret of [false, true]) {
        const transport = { payloadEncoding, expect, expectMode, ...(payloadSecret ? { payloadSecret } : { payload }) };
        const settings: Settings = { ...UDP, checkSpec: { transport } };
        const secrets = workSecretsOf(payloadSecret ? { payload } : {}, transport);
        const item = itemOf(settings);
        if (item === null || secrets === null) throw new Error('no item');
        t.is(verdictOn({ ...settings, secrets: {} }), isUp ? 'up' : 'down');
        t.is(verdictOn(checkTargetOf(besideSecrets(item, secrets, transport), secrets)), isUp ? 'up' : 'down');
      }
    },
  );
}

test('after a JSON round trip an agent sends any payload, plain or secret, as the service does', (t) => {
  const piece = oneof(
    string({ unit: anyCharacter }).map((text) => text.toWellFormed().replaceAll('\\', '\\\\')),
    constantFrom('\\r', '\\n', '\\t', '\\\\'),
    integer({ min: 0, max: 255 }).map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`),
  );
  const text = array(piece).map((pieces) => ({ payload: pieces.join(''), payloadEncoding: 'utf8' as const }));
  const hex = uint8Array().map((bytes) => ({
    payload: Buffer.from(bytes).toString('hex'),
    payloadEncoding: 'hex' as const,
  }));
  assert(
    property(oneof(text, hex), boolean(), ({ payload, payloadEncoding }, payloadSecret) => {
      const settings: Settings = {
        ...UDP,
        checkSpec: { transport: { payloadEncoding, ...(payloadSecret ? { payloadSecret } : { payload }) } },
      };
      const secrets: MonitorSecrets = payloadSecret ? { payload } : {};
      const wire = JSON.stringify({
        item: itemOf(settings),
        secrets: workSecretsOf(secrets, settings.checkSpec.transport),
      });
      const { item, secrets: opened } = JSON.parse(wire);
      t.is(bytesOf(checkTargetOf(item, opened)), bytesOf({ ...settings, secrets }));
      if (payloadSecret && payload.length > 8) t.false(JSON.stringify(item).includes(payload));
    }),
  );
});
