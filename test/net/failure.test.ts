import test from 'ava';
import { failureOf, type FailureCause, type Step } from '../../net/failure.ts';

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

const CAUSES: [string, Step, FailureCause][] = [
  ['ENOTFOUND', 'lookup', 'dns_nxdomain'],
  ['EAI_AGAIN', 'lookup', 'dns_error'],
  ['EAI_FAIL', 'lookup', 'dns_error'],
  ['ECONNREFUSED', 'connect', 'conn_refused'],
  ['EHOSTUNREACH', 'connect', 'conn_error'],
  ['ENETUNREACH', 'connect', 'conn_error'],
  ['ETIMEDOUT', 'connect', 'timeout'],
  ['ECONNRESET', 'connect', 'conn_error'],
  ['ECONNRESET', 'tls', 'tls_error'],
  ['EPROTO', 'tls', 'tls_error'],
  ['UNABLE_TO_GET_CRL', 'tls', 'tls_error'],
  ['CERT_HAS_EXPIRED', 'tls', 'cert_expired'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'response', 'tls_error'],
  ['ECONNRESET', 'response', 'conn_error'],
  ['EPIPE', 'response', 'conn_error'],
  ['HPE_INVALID_CONSTANT', 'response', 'conn_error'],
  ['HPE_INVALID_CHUNK_SIZE', 'body', 'conn_error'],
  ['ECONNRESET', 'body', 'conn_error'],
  ['ERR_ADDRESS_BLOCKED', 'lookup', 'blocked_target'],
];

for (const [code, step, cause] of CAUSES) {
  test(`${code} at the step ${step} is ${cause}`, (t) => {
    t.is(failureOf(coded(code), step)?.cause, cause);
  });
}

for (const code of ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']) {
  test(`${code} is the fault of our own machine`, (t) => {
    t.is(failureOf(coded(code), 'connect'), null);
  });
}

test('of attempts at several addresses a refusal determines the cause', (t) => {
  const errors = [coded('ENETUNREACH'), coded('ECONNREFUSED')];
  t.is(failureOf(new AggregateError(errors), 'connect')?.cause, 'conn_refused');
  t.is(failureOf(new AggregateError([coded('ENETUNREACH')]), 'connect')?.cause, 'conn_error');
});

test('an error without a code is a failure of its step', (t) => {
  t.is(failureOf(new Error('?'), 'lookup')?.cause, 'dns_error');
});
