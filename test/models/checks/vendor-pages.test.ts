import test, { type ExecutionContext } from 'ava';
import type { VendorDocumentRecord } from '../../../core/checks/vendor/document.ts';
import { findVendorPage } from '../../../core/checks/vendor/page.ts';
import {
  createVendorDocumentStore,
  deleteUnusedVendorPages,
  listVendorDocumentRecords,
} from '../../../models/checks/lookups.ts';
import { createVendorPageReader } from '../../../probes/vendor.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { startStatusPage } from '../../helpers/status-page.ts';

const ADDRESS = 'https://status.shop.example/api/v2/summary.json';
const NOW = 1_700_000_000_000;
const RECORD: VendorDocumentRecord = {
  url: ADDRESS,
  snapshot: {
    name: 'Shop',
    overall: 'operational',
    components: [{ id: 'a', name: 'API', state: 'major' }],
    listsAll: true,
    events: [{ title: 'x', componentIds: ['a'] }],
  },
  etag: '"1"',
  lastModified: 'Wed, 21 Oct 2015 07:28:00 GMT',
  fetchedAtMs: NOW,
  requestedAtMs: NOW,
  latencyMs: 12,
  failure: null,
  failures: 0,
  retryAtMs: null,
};

async function openStore(t: ExecutionContext) {
  const { database } = await openTestRuntime(t);
  return { database, store: createVendorDocumentStore(database) };
}

test('only one of concurrent claims of a document succeeds, and none until the outcome is stored', async (t) => {
  const { store } = await openStore(t);
  const claim = (nowMs: number) =>
    store.claim(ADDRESS, { nowMs, untilMs: nowMs + 10_000, requestedBeforeMs: nowMs - 30_000 });
  const claims = await Promise.all(Array.from({ length: 10 }, () => claim(NOW)));
  t.is(claims.filter(Boolean).length, 1);
  t.is(await store.find(ADDRESS), null);
  t.false(await claim(NOW + 9999));
  await store.save(RECORD);
  t.deepEqual(await store.find(ADDRESS), RECORD);
  t.false(await claim(NOW + 29_999));
  t.true(await claim(NOW + 30_000));
});

test('a claim can be taken again once it has expired', async (t) => {
  const { store } = await openStore(t);
  const claim = (nowMs: number) => store.claim(ADDRESS, { nowMs, untilMs: nowMs + 10_000, requestedBeforeMs: nowMs });
  t.true(await claim(NOW));
  t.false(await claim(NOW + 1));
  t.true(await claim(NOW + 10_000));
});

test('a failure is stored alongside the previous document', async (t) => {
  const { store } = await openStore(t);
  await store.claim(ADDRESS, { nowMs: NOW, untilMs: NOW + 1, requestedBeforeMs: NOW });
  const failed: VendorDocumentRecord = {
    ...RECORD,
    requestedAtMs: NOW + 5,
    failure: { kind: 'unreachable', reason: 'HTTP 503' },
    failures: 1,
    retryAtMs: NOW + 60_000,
  };
  await store.save(failed);
  t.deepEqual(await store.find(ADDRESS), failed);
  t.false(await store.claim(ADDRESS, { nowMs: NOW + 59_999, untilMs: NOW + 70_000, requestedBeforeMs: NOW + 59_999 }));
});

test('two processes that share the store make one request', async (t) => {
  const { database } = await openStore(t);
  const server = await startStatusPage(t);
  const page = findVendorPage(server.url);
  if (page === null) return t.fail();
  const readers = Array.from({ length: 2 }, () =>
    createVendorPageReader({ store: createVendorDocumentStore(database), allowPrivateNetwork: true, now: Date.now }),
  );
  const readings = await Promise.all(readers.flatMap((read) => Array.from({ length: 10 }, () => read(page, []))));
  t.true(readings.every(({ outcome }) => outcome === 'read'));
  return t.is(server.requests.length, 1);
});

test('unused pages are deleted', async (t) => {
  const { database, store } = await openStore(t);
  for (const url of [ADDRESS, 'https://other.example/'])
    await store.claim(url, { nowMs: NOW, untilMs: NOW + 1, requestedBeforeMs: NOW });
  await store.save(RECORD);
  await store.save({ ...RECORD, url: 'https://other.example/', requestedAtMs: NOW - 1000 });
  t.is(await deleteUnusedVendorPages(database, NOW, NOW), 1);
  t.deepEqual(
    (await listVendorDocumentRecords(database, [ADDRESS, 'https://other.example/'])).map(({ url }) => url),
    [ADDRESS],
  );
});

test('the newest twelve pages that an account only previewed are kept for an hour; checked ones stay', async (t) => {
  const { database, store } = await openStore(t);
  const urlOf = (tenantId: string, no: number) => `https://${tenantId}.example/${no}`;
  const readPage = async (tenantId: string, no: number, checks = false) => {
    const nowMs = NOW + no;
    t.true(
      await store.claim(urlOf(tenantId, no), {
        nowMs,
        untilMs: nowMs + 10,
        requestedBeforeMs: nowMs,
        tenantId: checks ? undefined : tenantId,
      }),
    );
    await store.save({ ...RECORD, url: urlOf(tenantId, no), requestedAtMs: nowMs });
  };
  const stored = async (tenantId: string) =>
    (
      await listVendorDocumentRecords(
        database,
        Array.from({ length: 40 }, (_, no) => urlOf(tenantId, no)),
      )
    )
      .map(({ url }) => Number(url.split('/').at(-1)))
      .toSorted((a, b) => a - b);
  await readPage('ten_a', 0);
  await readPage('ten_b', 0);
  await readPage('ten_a', 1, true);
  for (let no = 2; no < 30; no += 1) await readPage('ten_a', no);
  t.deepEqual(await stored('ten_a'), [1, ...Array.from({ length: 12 }, (_, no) => no + 18)]);
  t.deepEqual(await stored('ten_b'), [0]);
  // From now on the page counts as watched, even if other components read it.
  t.true(await store.claim(urlOf('ten_a', 20), { nowMs: NOW + 50, untilMs: NOW + 60, requestedBeforeMs: NOW + 50 }));
  t.true(
    await store.claim(urlOf('ten_a', 20), {
      nowMs: NOW + 70,
      untilMs: NOW + 80,
      requestedBeforeMs: NOW + 70,
      tenantId: 'ten_b',
    }),
  );
  await deleteUnusedVendorPages(database, NOW - 1000, NOW + 3_600_000);
  t.deepEqual(await stored('ten_a'), [1, 20]);
  t.deepEqual(await stored('ten_b'), []);
});
