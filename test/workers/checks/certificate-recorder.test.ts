import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { HttpObservation } from '../../../core/checks/http/observation.ts';
import { listCertificates } from '../../../models/alerts/advisories.ts';
import { type DueCheck, type ObservedCertificate, storeCertificates } from '../../../models/checks/checks.ts';
import { CertificateRecorder } from '../../../workers/checks/certificate-recorder.ts';
import { httpTarget } from '../../helpers/check-target.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const TARGET = 'https://shop.example/';

function checkOf(monitorNo: number, given: { target?: string; warnDays?: number } = {}): DueCheck {
  const { target = TARGET, warnDays = 30 } = given;
  const checkSpec = warnDays > 0 ? { domain: { warnDays } } : {};
  return {
    monitorNo,
    monitorId: `mon_${monitorNo}`,
    tenantId: 'ten_1',
    name: 'Shop',
    checksVersion: 1,
    target: httpTarget({ target, checkSpec }),
    steadyVerdict: 'up',
    badVote: null,
    hasItsSecrets: true,
  };
}

function observed(validTo: number | null, outcome: 'answered' | 'failed' = 'answered'): HttpObservation {
  const measured = {
    type: 'http',
    startedAt: 0,
    latencyMs: 1,
    timings: { dnsMs: null, connectMs: 1, tlsMs: 1, firstByteMs: 1, downloadMs: null },
    certificate: validTo === null ? null : { subject: 'shop.example', issuer: 'Authority', validFrom: 0, validTo },
  } as const;
  if (outcome === 'failed')
    return { ...measured, outcome, cause: 'cert_expired', reason: 'The certificate has expired' };
  return {
    ...measured,
    outcome,
    status: 200,
    headers: {},
    body: null,
    bodyTruncated: false,
    bodyStart: null,
    hadSecrets: false,
  };
}

/** Returns a recorder with a store that can be unavailable, and its calls. */
function openRecorder(): {
  recorder: CertificateRecorder;
  stored: ObservedCertificate[][];
  failures: unknown[];
  store: { isAway: boolean; waits: () => Promise<void> };
  clock: { nowMs: number };
} {
  const stored: ObservedCertificate[][] = [];
  const failures: unknown[] = [];
  const store = { isAway: false, waits: () => Promise.resolve() };
  const clock = { nowMs: 0 };
  const recorder = new CertificateRecorder({
    async store(served) {
      await store.waits();
      if (store.isAway) throw new Error('away');
      stored.push([...served]);
    },
    waitMs: 5,
    onFailure: (error) => void failures.push(error),
    now: () => clock.nowMs,
  });
  return { recorder, stored, failures, store, clock };
}

test('ten thousand unchanged checks cost a single statement', async (t) => {
  const { recorder, stored } = openRecorder();
  for (let round = 0; round < 100; round += 1) {
    for (let no = 1; no <= 100; no += 1)
      recorder.record({ check: checkOf(no), agentNo: 7, observation: observed(1_800_000_000) });
  }
  await recorder.close();
  t.deepEqual(
    stored.map((batch) => batch.length),
    [100],
  );
  for (let no = 1; no <= 100; no += 1)
    recorder.record({ check: checkOf(no), agentNo: 7, observation: observed(1_800_000_000) });
  await recorder.close();
  t.is(stored.length, 1);
});

test('an unchanged certificate is stored again after six hours, in case another worker overwrote it', async (t) => {
  const { recorder, stored, clock } = openRecorder();
  for (const nowMs of [0, 6 * 3_600_000 - 1, 6 * 3_600_000, 7 * 3_600_000]) {
    clock.nowMs = nowMs;
    recorder.record({ check: checkOf(1), agentNo: 7, observation: observed(1) });
    await recorder.close();
  }
  t.is(stored.length, 2);
});

test('a changed certificate, target or source is stored', async (t) => {
  const { recorder, stored } = openRecorder();
  recorder.record({ check: checkOf(1), agentNo: 7, observation: observed(1) });
  await until(() => stored.length === 1);
  recorder.record({ check: checkOf(1), agentNo: 7, observation: observed(2) });
  await recorder.close();
  recorder.record({
    check: checkOf(1, { target: 'https://other.example/' }),
    agentNo: 7,
    observation: observed(2, 'failed'),
  });
  recorder.record({ check: checkOf(1, { target: 'https://other.example/' }), agentNo: 8, observation: observed(2) });
  await recorder.close();
  t.deepEqual(
    stored.flat().map(({ agentNo, target, expiresAt }) => [agentNo, target, expiresAt]),
    [
      [7, TARGET, 1],
      [7, TARGET, 2],
      [7, 'https://other.example/', 2],
      [8, 'https://other.example/', 2],
    ],
  );
});

test('a certificate without a subject is named after the host of its monitor', async (t) => {
  const { recorder, stored } = openRecorder();
  const observation = observed(1);
  recorder.record({
    check: checkOf(1),
    agentNo: 7,
    observation: { ...observation, certificate: { subject: '', issuer: 'Authority', validFrom: 0, validTo: 1 } },
  });
  await recorder.close();
  t.deepEqual(
    stored.flat().map(({ name }) => name),
    ['shop.example'],
  );
});

test('the name of a certificate is stored without control characters and cut to a length', async (t) => {
  const { recorder, stored } = openRecorder();
  const nameOf = async (subject: string) => {
    const observation = observed(1);
    const certificate = { subject, issuer: 'Authority', validFrom: 0, validTo: 1 };
    recorder.record({ check: checkOf(1), agentNo: 7, observation: { ...observation, certificate } });
    await recorder.close();
    return stored.flat().at(-1)?.name;
  };
  t.is(await nameOf('OU=a\0b\nc'), 'OU=a b c');
  t.is(await nameOf('\0'), 'shop.example');
  t.is(await nameOf('OU=x, '.repeat(1000)), 'OU=x, '.repeat(1000).slice(0, 255));
});

test('a certificate is stored with or without an expiry warning, and no certificate stores nothing', async (t) => {
  const { recorder, stored } = openRecorder();
  recorder.record({ check: checkOf(1, { warnDays: 0 }), agentNo: 7, observation: observed(1) });
  recorder.record({ check: checkOf(2, { target: 'http://shop.example/' }), agentNo: 7, observation: observed(1) });
  recorder.record({ check: checkOf(3), agentNo: 7, observation: observed(null) });
  recorder.record({ check: checkOf(4), agentNo: 7, observation: null });
  await recorder.close();
  t.deepEqual(
    stored.flat().map(({ monitorNo }) => monitorNo),
    [1],
  );
});

test('a certificate that could not be stored is retried with the next check', async (t) => {
  const { recorder, stored, failures, store } = openRecorder();
  store.isAway = true;
  recorder.record({ check: checkOf(1), agentNo: 7, observation: observed(1) });
  await recorder.close();
  store.isAway = false;
  recorder.record({ check: checkOf(1), agentNo: 7, observation: observed(1) });
  await recorder.close();
  t.is(failures.length, 1);
  t.is(stored.flat().length, 1);
});

test('a stop waits for certificates that are being stored', async (t) => {
  const { recorder, stored, store } = openRecorder();
  const storing = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  store.waits = () => {
    begun.resolve();
    return storing.promise;
  };
  recorder.record({ check: checkOf(1), agentNo: 7, observation: observed(1) });
  await begun.promise;
  let isClosed = false;
  const closed = recorder.close().then(() => (isClosed = true));
  await setImmediate();
  t.false(isClosed);
  storing.resolve();
  await closed;
  t.is(stored.flat().length, 1);
});

async function addObservers(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const [near, far] = [await runtime.addAgent('near'), await runtime.addAgent('far')];
  const monitor = await runtime.addMonitor([near, far], { target: TARGET });
  return { runtime, near, far, monitor };
}

test('the certificate that expires first counts, and one of a deleted monitor does not fail the batch', async (t) => {
  const { runtime, near, far, monitor } = await addObservers(t);
  const served = {
    monitorNo: monitor.no,
    agentNo: near.no,
    target: TARGET,
    name: 'shop.example',
    expiresAt: 200,
    observedAtMs: 0,
  };
  await storeCertificates(runtime.database, [
    { ...served, monitorNo: 999_999 },
    served,
    { ...served, agentNo: far.no, expiresAt: 100, name: 'old.example' },
  ]);
  t.deepEqual(await listCertificates(runtime.database, [monitor.no], 1), [
    { monitorNo: monitor.no, name: 'old.example', expiresAt: 100, isCurrent: true },
  ]);
  await storeCertificates(runtime.database, [{ ...served, agentNo: far.no, expiresAt: 300 }]);
  t.deepEqual(await listCertificates(runtime.database, [monitor.no], 1), [
    { monitorNo: monitor.no, name: 'shop.example', expiresAt: 200, isCurrent: true },
  ]);
  await storeCertificates(runtime.database, [{ ...served, target: 'https://before.example/', expiresAt: 1 }]);
  t.deepEqual(await listCertificates(runtime.database, [monitor.no], 1), [
    { monitorNo: monitor.no, name: 'shop.example', expiresAt: 300, isCurrent: true },
  ]);
});
