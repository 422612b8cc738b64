import test from 'ava';
import { judgeTcp, type TcpAnswer, type TcpObservation } from '../../../../core/checks/transport/observation.ts';
import type { FixedCause, Judgement } from '../../../../core/checks/verdict.ts';
import type { TransportSpec } from '../../../../core/monitors/monitor.ts';

const MEASURED = {
  type: 'tcp',
  startedAt: 0,
  timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: null, downloadMs: null },
} as const;
const UP: Judgement = { verdict: 'up', cause: null, reason: null };

function judge(observation: TcpObservation, transport?: TransportSpec): Judgement {
  const search = (pattern: string, text: string) => new RegExp(pattern).test(text);
  return judgeTcp({ target: { checkSpec: transport === undefined ? {} : { transport } }, observation, search });
}

function connected(answer: TcpAnswer | null): TcpObservation {
  return { ...MEASURED, outcome: 'connected', latencyMs: 1, answer };
}

function answered(text: string): TcpObservation {
  return connected({ text, bytes: Buffer.from(text).toString('latin1'), byteLength: text.length, end: 'deadline' });
}

test('a connection is up if no response is expected', (t) => {
  t.deepEqual(judge(connected(null)), UP);
  t.deepEqual(judge(connected(null), { payload: 'QUIT' }), UP);
});

test('a response that contains the expected text in the same case is up', (t) => {
  t.deepEqual(judge(answered('220 mail ESMTP\r\n'), { expect: 'ESMTP' }), UP);
  t.deepEqual(judge(answered('+PONG\r\n'), { expect: 'PONG', expectMode: 'contains' }), UP);
  t.deepEqual(judge(answered('+pong\r\n'), { expect: 'PONG' }), {
    verdict: 'down',
    cause: 'tcp_mismatch',
    reason: 'The response does not contain "PONG"',
  });
});

test('regex mode searches for a pattern, contains mode for the literal text', (t) => {
  t.deepEqual(judge(answered('SSH-2.0-x'), { expect: '^SSH-2\\.', expectMode: 'regex' }), UP);
  t.deepEqual(judge(answered('HTTP/1.1 400'), { expect: '^SSH-2\\.', expectMode: 'regex' }), {
    verdict: 'down',
    cause: 'tcp_mismatch',
    reason: 'The response does not match "^SSH-2\\."',
  });
  t.like(judge(answered('aaa'), { expect: 'a+' }), { cause: 'tcp_mismatch' });
});

test('with a hex payload expect is hex bytes or a text pattern, and literal text if it is not hex', (t) => {
  const hex = (expect: string, expectMode: 'contains' | 'regex' = 'contains') =>
    judge(connected({ text: '�ab', bytes: 'ÿab', byteLength: 3, end: 'closed' }), {
      payloadEncoding: 'hex',
      expect,
      expectMode,
    }).verdict;
  t.deepEqual(
    ['ff', 'FF61', '6162', 'ff62', 'ab', 'b'].map((expect) => hex(expect)),
    ['up', 'up', 'up', 'down', 'down', 'up'],
  );
  t.deepEqual([hex('^.ab$', 'regex'), hex('ff61', 'regex')], ['up', 'down']);
});

test('a missing response differs from a wrong one, and a closed connection from a timeout', (t) => {
  const silent = (end: TcpAnswer['end']) =>
    judge(connected({ text: '', bytes: '', byteLength: 0, end }), { expect: 'x' });
  t.deepEqual(silent('deadline'), {
    verdict: 'down',
    cause: 'tcp_no_banner',
    reason: 'Connected, but nothing arrived in time',
  });
  t.deepEqual(silent('closed'), {
    verdict: 'down',
    cause: 'tcp_no_banner',
    reason: 'The connection was closed before anything arrived',
  });
});

test('a missing response fails even a pattern that matches empty text', (t) => {
  t.like(
    judge(connected({ text: '', bytes: '', byteLength: 0, end: 'closed' }), { expect: '.*', expectMode: 'regex' }),
    { cause: 'tcp_no_banner' },
  );
});

test('a partial character is a mismatch', (t) => {
  t.like(judge(connected({ text: '', bytes: 'Ã', byteLength: 1, end: 'closed' }), { expect: 'é' }), {
    cause: 'tcp_mismatch',
  });
});

test('a reason quotes the expected text, truncated, and nothing of the response', (t) => {
  const { reason } = judge(answered('echo of a secret'), { expect: 'x'.repeat(100) });
  t.is(reason, `The response does not contain "${'x'.repeat(60)}..."`);
});

const FAILURES: [FixedCause, Judgement['verdict']][] = [
  ['conn_refused', 'down'],
  ['conn_error', 'down'],
  ['timeout', 'down'],
  ['dns_nxdomain', 'down'],
  ['dns_error', 'down'],
  ['blocked_target', 'none'],
  ['unsupported', 'none'],
];
for (const [cause, verdict] of FAILURES) {
  test(`${cause} is ${verdict === 'none' ? 'no vote' : verdict}`, (t) => {
    const failed: TcpObservation = { ...MEASURED, outcome: 'failed', latencyMs: null, cause, reason: 'why' };
    t.deepEqual(judge(failed, { expect: 'x' }), { verdict, cause, reason: 'why' });
  });
}
