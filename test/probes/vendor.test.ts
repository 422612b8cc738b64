import test from 'ava';
import type { VendorReading } from '../../core/checks/vendor/document.ts';
import { createVendorProbe } from '../../probes/vendor.ts';
import { httpTarget } from '../helpers/check-target.ts';

const READ: VendorReading = {
  outcome: 'read',
  snapshot: { name: 'GitHub', overall: 'operational', components: [], listsAll: true, events: [] },
  latencyMs: 41,
};

const target = (overrides: { target?: string; timeoutMs?: number } = {}) =>
  httpTarget({ type: 'vendor', target: 'github', checkSpec: { vendor: { components: ['Actions'] } }, ...overrides });

test('the observation has the snapshot of the page and the latency of its lookup', async (t) => {
  const calls: unknown[] = [];
  const probe = createVendorProbe(async (page, components) => {
    calls.push([page.vendorId, components]);
    return READ;
  });
  t.like(await probe(target()), { type: 'vendor', outcome: 'read', latencyMs: 41, snapshot: { name: 'GitHub' } });
  t.deepEqual(calls, [['github', ['Actions']]]);
});

test('a page that could not be read is reported with its reason', async (t) => {
  const probe = createVendorProbe(async () => ({
    outcome: 'failed',
    failure: { kind: 'unreachable', reason: 'The status page responded with HTTP 503' },
    latencyMs: 7,
  }));
  t.like(await probe(target()), { outcome: 'unread', latencyMs: 7, reason: 'The status page responded with HTTP 503' });
});

test('a check waits for a page no longer than its own timeout', async (t) => {
  const { promise, resolve } = Promise.withResolvers<VendorReading>();
  const probe = createVendorProbe(() => promise);
  t.like(await probe(target({ timeoutMs: 20 })), {
    outcome: 'unread',
    latencyMs: null,
    reason: 'The status page was not read within 20 ms',
  });
  resolve(READ);
});

test('a vendor that is no longer in the catalog is reported without a lookup', async (t) => {
  const probe = createVendorProbe(() => Promise.reject(new Error('asked')));
  t.like(await probe(target({ target: 'a-vendor-of-yesterday' })), {
    outcome: 'unread',
    reason: 'The vendor a-vendor-of-yesterday is no longer in the catalog',
  });
});

test('the probe rejects if the store fails', async (t) => {
  const probe = createVendorProbe(() => Promise.reject(new Error('PostgreSQL is away')));
  await t.throwsAsync(probe(target()), { message: 'PostgreSQL is away' });
});
