import test from 'ava';
import type { Problem } from '../../../../core/input.ts';
import { completeTransport } from '../../../../core/monitors/input/check-spec.ts';
import type { TransportInput } from '../../../../core/monitors/input/fields.ts';
import type { MonitorSecrets } from '../../../../core/monitors/monitor.ts';

/** Returns the transport settings stored by a write, or the messages of its problems. */
function write(input: TransportInput, secrets: MonitorSecrets = {}): ReturnType<typeof completeTransport> | string[] {
  const problems: Problem[] = [];
  const completed = completeTransport(
    input,
    { secrets, isMoved: false, isValidPattern: (pattern) => !pattern.includes('(?=') },
    problems,
  );
  return problems.length > 0 ? problems.map(({ message }) => message) : completed;
}

test('transport settings are stored as written, including escapes', (t) => {
  const transport: TransportInput = {
    payload: String.raw`PING\r\n\x00`,
    payloadEncoding: 'utf8',
    expect: '^PONG',
    expectMode: 'regex',
  };
  t.deepEqual(write(transport), { transport });
  t.deepEqual(write({ payload: '00fF', payloadEncoding: 'hex' }), {
    transport: { payload: '00fF', payloadEncoding: 'hex' },
  });
  t.deepEqual(write({}), { transport: {} });
});

test('an empty expect is not stored', (t) => {
  t.deepEqual(write({ expect: '', expectMode: 'regex' }), { transport: { expectMode: 'regex' } });
});

test('expect must be a valid pattern in regex mode only', (t) => {
  t.deepEqual(write({ expect: '(?=a)' }), { transport: { expect: '(?=a)' } });
  t.deepEqual(write({ expect: '(?=a)', expectMode: 'regex' }), [
    'check_spec.transport.expect must be a regular expression in RE2 syntax, got "(?=a)"',
  ]);
});

test('a payload is validated against the encoding sent with it', (t) => {
  t.deepEqual(write({ payload: 'zz' }), { transport: { payload: 'zz' } });
  t.deepEqual(write({ payload: 'zz', payloadEncoding: 'hex' }), [
    'check_spec.transport.payload must be pairs of hexadecimal digits, got something else',
  ]);
  t.deepEqual(write({ payload: String.raw`hush\d` }), [
    'check_spec.transport.payload must have only the escapes ' +
      String.raw`\r, \n, \t, \\ and \xHH with two hexadecimal digits, got another at character 5`,
  ]);
});

test('a payload with more bytes than one datagram holds is refused', (t) => {
  t.deepEqual(write({ payload: 'x'.repeat(65_508) }), [
    'check_spec.transport.payload must be at most 65507 bytes, which is what one datagram holds, got 65508',
  ]);
  t.deepEqual(write({ payload: 'é'.repeat(40_000) }), [
    'check_spec.transport.payload must be at most 65507 bytes, which is what one datagram holds, got 80000',
  ]);
});

test('with a hex payload, expect must be hex or a pattern', (t) => {
  t.deepEqual(write({ payload: '00', payloadEncoding: 'hex', expect: 'fF00' }), {
    transport: { payload: '00', payloadEncoding: 'hex', expect: 'fF00' },
  });
  t.deepEqual(write({ payloadEncoding: 'hex', expect: '^ok', expectMode: 'regex' }), {
    transport: { payloadEncoding: 'hex', expect: '^ok', expectMode: 'regex' },
  });
  t.deepEqual(write({ payload: '00', payloadEncoding: 'hex', expect: 'ok' }), [
    'check_spec.transport.expect must be pairs of hexadecimal digits when payloadEncoding is hex, or a regular ' +
      'expression when expectMode is regex, got something else',
  ]);
});

test('a secret payload is stored as a secret, validated like any other and never part of a message', (t) => {
  t.deepEqual(write({ payload: 'hush', payloadSecret: true }), { transport: { payloadSecret: true }, payload: 'hush' });
  for (const payload of ['hush\\q', 'hush']) {
    const problems = write({ payload, payloadSecret: true, payloadEncoding: payload === 'hush' ? 'hex' : 'utf8' });
    t.true(Array.isArray(problems));
    t.false(JSON.stringify(problems).includes('hush'));
  }
});

test('a preserved payload must fit the encoding sent with the request', (t) => {
  const keep = { payloadSecret: true, preservePayload: true };
  t.deepEqual(write({ ...keep, payloadEncoding: 'hex' }, { payload: '00ff' }), {
    transport: { payloadSecret: true, payloadEncoding: 'hex' },
    payload: '00ff',
  });
  t.deepEqual(write({ ...keep, payloadEncoding: 'hex' }, { payload: 'hush' }), [
    'check_spec.transport.payloadEncoding must be the encoding of the stored payload, which is kept, got hex',
  ]);
  t.deepEqual(write(keep, { payload: 'hush' }), { transport: { payloadSecret: true }, payload: 'hush' });
});

test('a secret payload can be preserved only if one is stored', (t) => {
  t.deepEqual(write({ payloadSecret: true, preservePayload: true }), [
    'check_spec.transport.preservePayload has nothing to keep: no secret value is stored',
  ]);
  t.deepEqual(write({ payloadSecret: true }), [
    'check_spec.transport.payload is required when payloadSecret is true, unless preservePayload is true',
  ]);
});
