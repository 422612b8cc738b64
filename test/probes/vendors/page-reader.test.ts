import test from 'ava';
import type { VendorDocumentRecord, VendorDocumentStore } from '../../../core/checks/vendor/document.ts';
import { findVendorPage, type VendorPage } from '../../../core/checks/vendor/page.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { createVendorPageReader } from '../../../probes/vendor.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { startStatusPage } from '../../helpers/status-page.ts';

/** Implements the shared store in this process; other tests cover PostgreSQL's. */
function memoryStore(): VendorDocumentStore & { records: Map<string, VendorDocumentRecord> } {
  const records = new Map<string, VendorDocumentRecord>();
  const claims = new Map<string, number>();
  return {
    records,
    find: async (url) => records.get(url) ?? null,
    claim: async (url, { nowMs, untilMs, requestedBeforeMs }) => {
      if ((claims.get(url) ?? 0) > nowMs || (records.get(url)?.requestedAtMs ?? 0) > requestedBeforeMs) return false;
      claims.set(url, untilMs);
      return true;
    },
    save: async (record) => {
      records.set(record.url, record);
      claims.delete(record.url);
    },
  };
}

function readerOf({
  store = memoryStore(),
  allowPrivateNetwork = true,
}: { store?: VendorDocumentStore; allowPrivateNetwork?: boolean } = {}) {
  const clock = { ms: Date.now() };
  return { clock, read: createVendorPageReader({ store, allowPrivateNetwork, now: () => clock.ms }) };
}

function pageAt(url: string): VendorPage {
  const page = findVendorPage(url);
  if (page === null) throw new Error(`${url} is no page`);
  return page;
}

test('a hundred concurrent reads of a page make one request', async (t) => {
  const server = await startStatusPage(t);
  const { read } = readerOf();
  const readings = await Promise.all(Array.from({ length: 100 }, () => read(pageAt(server.url), [])));
  t.true(readings.every(({ outcome }) => outcome === 'read'));
  t.is(server.requests.length, 1);
});

test('two processes that read a page concurrently make one request', async (t) => {
  const server = await startStatusPage(t);
  const store = memoryStore();
  const readings = await Promise.all([
    readerOf({ store }).read(pageAt(server.url), []),
    readerOf({ store }).read(pageAt(server.url), []),
  ]);
  t.deepEqual(
    readings.map(({ outcome }) => outcome),
    ['read', 'read'],
  );
  t.is(server.requests.length, 1);
});

test('a page is requested again after 5 s, conditionally, and may respond with a 304', async (t) => {
  const server = await startStatusPage(t);
  const { read, clock } = readerOf();
  const first = await read(pageAt(server.url), []);
  clock.ms += 4999;
  await read(pageAt(server.url), []);
  t.is(server.requests.length, 1);
  clock.ms += 1;
  const second = await read(pageAt(server.url), []);
  t.deepEqual(
    server.requests.map(({ answered }) => answered),
    [200, 304],
  );
  t.true(first.outcome === 'read' && second.outcome === 'read');
  if (first.outcome === 'read' && second.outcome === 'read') t.deepEqual(second.snapshot, first.snapshot);

  server.page.indicator = 'critical';
  clock.ms += 5000;
  const third = await read(pageAt(server.url), []);
  t.is(third.outcome === 'read' && third.snapshot.overall, 'major');
});

test('a page is requested again after the clock was set back and the times in the store were corrected', async (t) => {
  const server = await startStatusPage(t);
  const store = memoryStore();
  const { read, clock } = readerOf({ store });
  await read(pageAt(server.url), []);
  clock.ms -= HOUR_MS;
  for (const [url, record] of store.records) store.records.set(url, { ...record, requestedAtMs: clock.ms });
  server.page.indicator = 'critical';
  clock.ms += 5000;
  const reading = await read(pageAt(server.url), []);
  t.is(reading.outcome === 'read' && reading.snapshot.overall, 'major');
});

test('one or two failed lookups are bridged by the previous snapshot, and the third is reported', async (t) => {
  const server = await startStatusPage(t);
  const { read, clock } = readerOf();
  await read(pageAt(server.url), []);
  server.instead = { status: 502 };
  const outcomes: string[] = [];
  for (let lookup = 0; lookup < 3; lookup += 1) {
    clock.ms += 5000;
    outcomes.push((await read(pageAt(server.url), [])).outcome);
  }
  t.deepEqual(outcomes, ['read', 'read', 'failed']);
  t.like(await read(pageAt(server.url), []), {
    outcome: 'failed',
    failure: { kind: 'unreachable', reason: 'The status page responded with HTTP 502' },
  });
  server.instead = null;
  clock.ms += 5000;
  t.is((await read(pageAt(server.url), [])).outcome, 'read');
});

test('a snapshot older than a minute does not bridge a failed lookup', async (t) => {
  const server = await startStatusPage(t);
  const { read, clock } = readerOf();
  await read(pageAt(server.url), []);
  server.instead = { status: 500 };
  clock.ms += 60_001;
  t.is((await read(pageAt(server.url), [])).outcome, 'failed');
});

test('Retry-After is respected, for an hour at most', async (t) => {
  const server = await startStatusPage(t);
  const { read, clock } = readerOf();
  server.instead = { status: 429, headers: { 'Retry-After': '120' } };
  t.like(await read(pageAt(server.url), []), {
    outcome: 'failed',
    failure: { kind: 'unreachable', reason: 'The status page responded with HTTP 429' },
  });
  clock.ms += 119_000;
  await read(pageAt(server.url), []);
  t.is(server.requests.length, 1);
  server.instead = { status: 503, headers: { 'Retry-After': 'Wed, 21 Oct 2099 07:28:00 GMT' } };
  clock.ms += 1000;
  await read(pageAt(server.url), []);
  t.is(server.requests.length, 2);
  server.instead = null;
  clock.ms += 3_600_000;
  t.is((await read(pageAt(server.url), [])).outcome, 'read');
});

const OTHERS: [
  what: string,
  instead: { status: number; headers?: Record<string, string>; body?: string },
  kind: string,
  reason: RegExp,
][] = [
  [
    'a page in another format',
    { status: 200, body: '{"ok":true}' },
    'not_a_status_page',
    /cannot be parsed: its JSON is of another form/,
  ],
  ['a site without a status page', { status: 404, body: 'no' }, 'not_a_status_page', /responded with HTTP 404/],
  ['a site that requires a login', { status: 403 }, 'unreachable', /responded with HTTP 403/],
  [
    'a page of more than 5 MiB',
    { status: 200, body: ' '.repeat(5 * 1024 * 1024 + 1) },
    'not_a_status_page',
    /larger than 5 MiB/,
  ],
  [
    'a redirect loop',
    { status: 302, headers: { Location: '/api/v2/summary.json' } },
    'unreachable',
    /more than 5 times/,
  ],
  ['a 304 to a first request', { status: 304 }, 'not_a_status_page', /HTTP 304 to a first request/],
];
for (const [what, instead, kind, reason] of OTHERS) {
  test(`${what} is ${kind} with a reason`, async (t) => {
    const server = await startStatusPage(t);
    server.instead = instead;
    const reading = await readerOf().read(pageAt(server.url), []);
    t.true(reading.outcome === 'failed');
    if (reading.outcome !== 'failed') return;
    t.is(reading.failure.kind, kind as 'unreachable');
    t.regex(reading.failure.reason, reason);
  });
}

test('a redirect to a page is followed', async (t) => {
  const server = await startStatusPage(t);
  const { port } = await startHttpServer(
    t,
    (_request, response) => void response.writeHead(301, { Location: `${server.url}/api/v2/summary.json` }).end(),
  );
  t.is((await readerOf().read(pageAt(`http://127.0.0.1:${port}`), [])).outcome, 'read');
});

test('pages that are slow to parse wait for one another, and catalog pages do not wait for them', async (t) => {
  const summary = (components: string) => `{"status":{"indicator":"none"},"components":[${components}]}`;
  const strange = summary(Array(850_000).fill('{}').join(','));
  const good = summary(Array(700).fill('{"id":"a","name":"A part of the whole","status":"operational"}').join(','));
  const { port } = await startHttpServer(t, (request, response) => {
    response.end(request.url?.startsWith('/strange') === true ? strange : good);
  });
  const url = `http://127.0.0.1:${port}`;
  const { read } = readerOf();
  const order: string[] = [];
  const readAs = async (name: string, page: VendorPage) => {
    const reading = await read(page, []);
    order.push(name);
    return reading.outcome === 'read' ? 'read' : reading.failure.reason;
  };
  const pages = Array.from({ length: 12 }, (_, number) => readAs('strange', pageAt(`${url}/strange/${number}`)));
  // By now the others wait for the thread.
  await Promise.race(pages);
  const other = readAs('other', pageAt(`${url}/good`));
  const catalog = { ...pageAt(`${url}/catalog`), isInCatalog: true };
  t.is(await readAs('catalog', catalog), 'read');
  t.is(await other, 'read');
  for (const reason of await Promise.all(pages)) t.regex(reason, /its JSON is of another form/);
  t.true(order.indexOf('catalog') < order.indexOf('other'), order.join(', '));
});

test('the guard blocks pages on private networks', async (t) => {
  const server = await startStatusPage(t);
  const reading = await readerOf({ allowPrivateNetwork: false }).read(pageAt(server.url), []);
  t.like(reading, { outcome: 'failed', failure: { kind: 'unreachable' } });
  t.is(server.requests.length, 0);
});

test('a port without a listener is unreachable', async (t) => {
  const reading = await readerOf().read(pageAt('http://127.0.0.1:9'), []);
  t.like(reading, {
    outcome: 'failed',
    failure: { kind: 'unreachable', reason: 'The status page could not be read: Connection refused' },
  });
});
