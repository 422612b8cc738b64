import { randomBytes } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createVendorLookup } from '../../../api/monitors/vendors.ts';
import { VENDORS } from '../../../core/checks/vendor/catalog.ts';
import { listVendorDocumentRecords } from '../../../models/checks/lookups.ts';
import { startServiceCheck } from '../../../workers/processes/check.ts';
import { openRuntime } from '../../../workers/processes/every-process.ts';
import type { Runtime } from '../../../workers/runtime.ts';
import { startStatusPage } from '../../helpers/status-page.ts';
import { isError, withApiServer, type ApiServer, type Call } from '../api-server.ts';
import { beginLongPeriod } from '../rate-limit.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;

/** Probe settings of the worker, which only checks vendors here. */
const SERVICE = { allowPrivateNetwork: true, dnsResolvers: [], whoisServer: { host: '127.0.0.1', port: 9 } };

const closers: (() => Promise<void>)[] = [];
let runtime: Runtime | null = null;

/** Opens the file's only worker: with one per test, the shared queue would be slower. */
function openWorker({ databaseUrl }: ApiServer): Runtime {
  if (runtime !== null) return runtime;
  const opened = openRuntime({
    databaseUrl,
    redisUrl: null,
    secretKeys: [{ id: 'test', key: randomBytes(32) }],
    publicUrl: 'http://localhost:3000',
    log: pino({ level: 'silent' }),
    registry: new Registry(),
  });
  runtime = opened.runtime;
  closers.push(startServiceCheck(runtime, SERVICE).stop, opened.close);
  return runtime;
}

// The workers close before the database, so this hook precedes those of the server.
test.after.always(async () => {
  for (const close of closers) await close();
});
withApiServer(test);

/** Vendors whose lookups no worker handles; `wanted` lists every vendor that the API wanted to read. */
const UNATTENDED = new Set(['cloudflare', 'status.shop.example']);
const wanted: string[] = [];
let base: Promise<string> | null = null;
/** Callbacks that run after a page is read and before the waiting request continues, by URL. */
const overtaking = new Map<string, () => Promise<void>>();

/**
 * Starts another API process with a real queue, as in production, and a real worker for all but the unattended vendors.
 */
function openApi(api: ApiServer): Promise<string> {
  const listRecords = (urls: readonly string[]) => listVendorDocumentRecords(api.database, urls);
  // The clock of a lookup stands still, so that it waits for the worker for as long as necessary.
  const attended: ReturnType<typeof createVendorLookup> = (page, reader) => {
    const nowMs = Date.now();
    const lookup = createVendorLookup({
      listRecords,
      enqueueLookup: (target, tenantId) => openWorker(api).queues.enqueueLookup(target, tenantId),
      now: () => nowMs,
    });
    return lookup(page, reader);
  };
  let ms = Date.now();
  // Each reading of the clock is three seconds later, so that no test waits for the time limit.
  const unattended = createVendorLookup({ listRecords, enqueueLookup: async () => undefined, now: () => (ms += 3000) });
  return api.another({
    async readVendorPage(page, reader) {
      wanted.push(page.vendorId);
      const reading = await (UNATTENDED.has(page.vendorId) ? unattended(page, reader) : attended(page, reader));
      await overtaking.get(page.pageUrl)?.();
      return reading;
    },
  });
}

/**
 * From now on calls `overtake` after a request has read one of the pages and before it continues. Requests of
 * `overtake` itself do not call it again. Returns the growing list of pages read.
 */
function overtakeReads(pages: readonly string[], overtake: (reads: number) => Promise<unknown>): string[] {
  const read: string[] = [];
  let isOvertaking = false;
  for (const url of pages) {
    overtaking.set(url, async () => {
      if (isOvertaking) return;
      isOvertaking = true;
      await overtake(read.push(url));
      isOvertaking = false;
    });
  }
  return read;
}

async function openVendorApi({ context: { api } }: ExecutionContext<{ api: ApiServer }>) {
  base ??= openApi(api);
  const url = await base;
  const account = await api.account();
  const through =
    (call: Call): Call =>
    (method, path, body) =>
      call(method, path, body, {}, url);
  return {
    tenantId: account.tenantId,
    owner: through(account.owner),
    reader: through(account.reader),
    stranger: through((await api.account()).owner),
  };
}

const create = (target: string, more: object = {}) => ({ name: 'Vendor', type: 'vendor', target, ...more });

async function vendorOf(call: Call, id: unknown): Promise<unknown> {
  return (await call('GET', `/v1/monitors/${id}`)).json.check_spec.vendor;
}

test('an unknown status page is read by a worker, and the server fills in its details', async (t) => {
  const page = await startStatusPage(t);
  const { owner } = await openVendorApi(t);
  const created = await owner('POST', '/v1/monitors', create(`${page.url}/history`, { components: ['api', 'c3'] }));
  t.is(created.status, 201, created.text);
  t.deepEqual(await vendorOf(owner, created.json['id']), {
    vendorId: new URL(page.url).host,
    pageUrl: page.url,
    probeUrl: `${page.url}/api/v2/summary.json`,
    components: ['API', 'Webhooks'],
  });
});

test('concurrent creations with the same page send one request', async (t) => {
  const page = await startStatusPage(t);
  const { owner } = await openVendorApi(t);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => owner('POST', '/v1/monitors', create(page.url, { components: ['API'] }))),
  );
  t.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 20 }, () => 201),
  );
  t.is(page.requests.length, 1);
});

test('an unknown component is a 400 with suggestions, and nothing is stored', async (t) => {
  const page = await startStatusPage(t);
  const { owner } = await openVendorApi(t);
  isError(t, await owner('POST', '/v1/monitors', create(page.url, { components: ['Dashbord'] })), {
    status: 400,
    error: /^components must be parts of .*"Dashbord" is not on the status page; did you mean "Dashboard"\?$/,
  });
  t.deepEqual((await owner('GET', '/v1/monitors')).json, { monitors: [] });
});

test('a site that is not a status page, or that does not respond, is a 400 that says which', async (t) => {
  const { owner } = await openVendorApi(t);
  const site = await startStatusPage(t);
  site.instead = { status: 200, body: '<h1>Hello</h1>' };
  isError(t, await owner('POST', '/v1/monitors', create(site.url)), {
    status: 400,
    error: /^target must be the URL of an Atlassian Statuspage .*it is not JSON$/,
  });
  site.instead = { status: 500 };
  isError(t, await owner('POST', '/v1/monitors', create(`${site.url}/shop`)), {
    status: 400,
    error: /^target must be a status page that can be read\. .*HTTP 500: try again later$/,
  });
  isError(t, await owner('POST', '/v1/monitors', create('http://127.0.0.1:9')), {
    status: 400,
    error: /Connection refused: try again later$/,
  });
});

test('a PATCH reads a page only if target or components change, and validates the kept components', async (t) => {
  const first = await startStatusPage(t);
  const second = await startStatusPage(t);
  second.page.components = [{ id: 'x', name: 'Kitchen', status: 'operational' }];
  const { owner, reader, stranger } = await openVendorApi(t);
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', create(first.url, { components: ['API'] }));
  const path = `/v1/monitors/${id}`;
  t.is((await owner('PATCH', path, { name: 'Renamed', target: first.url })).status, 200);
  first.page.components = [{ id: 'y', name: 'API v2', status: 'operational' }];
  t.is((await owner('PATCH', path, { interval_seconds: 300, target: first.url, components: ['API'] })).status, 200);
  t.is(first.requests.length, 1);

  isError(t, await owner('PATCH', path, { target: second.url }), {
    status: 400,
    error: /"API" is not on the status page; it has "Kitchen"/,
  });
  t.like(await vendorOf(owner, id), { pageUrl: first.url, components: ['API'] });
  t.is((await owner('PATCH', path, { target: second.url, components: ['kitchen'] })).status, 200);
  t.like(await vendorOf(owner, id), { pageUrl: second.url, components: ['Kitchen'] });
  t.is((await owner('PATCH', path, { components: [] })).status, 200);
  t.like(await vendorOf(owner, id), { pageUrl: second.url, components: [] });

  t.is((await reader('PATCH', path, { components: ['Kitchen'] })).status, 403);
  t.is((await stranger('PATCH', path, { components: ['Kitchen'] })).status, 404);
});

test('components are validated on the page of the target that a concurrent PATCH has set', async (t) => {
  const first = await startStatusPage(t);
  const second = await startStatusPage(t);
  second.page.components = [{ id: 'x', name: 'Kitchen', status: 'operational' }];
  const { owner } = await openVendorApi(t);
  for (const [components, status] of [
    [['kitchen'], 200],
    [['Dashboard'], 400],
  ] as const) {
    const {
      json: { id },
    } = await owner('POST', '/v1/monitors', create(first.url, { components: ['API'] }));
    const path = `/v1/monitors/${id}`;
    const read = overtakeReads(
      [first.url, second.url],
      async (reads) => reads === 1 && (await owner('PATCH', path, { target: second.url, components: [] })),
    );
    const answer = await owner('PATCH', path, { components });
    t.is(answer.status, status, answer.text);
    if (status === 400)
      isError(t, answer, { status, error: /"Dashboard" is not on the status page; it has "Kitchen"$/ });
    t.like(await vendorOf(owner, id), { pageUrl: second.url, components: status === 200 ? ['Kitchen'] : [] });
    t.deepEqual(read, [first.url, second.url]);
    for (const url of [first.url, second.url]) overtaking.delete(url);
  }
});

test('a PATCH overtaken each time it has read the page stores its components unvalidated', async (t) => {
  const pages = [await startStatusPage(t), await startStatusPage(t)];
  const urlOf = (turn: number) => pages[turn % 2]?.url ?? '';
  const { owner } = await openVendorApi(t);
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', create(urlOf(0)));
  const path = `/v1/monitors/${id}`;
  const read = overtakeReads([urlOf(0), urlOf(1)], (reads) =>
    owner('PATCH', path, { target: urlOf(reads), components: [] }),
  );
  const answer = await owner('PATCH', path, { components: ['api'] });
  t.is(answer.status, 200, answer.text);
  t.deepEqual(read, [urlOf(0), urlOf(1), urlOf(2)]);
  t.like(await vendorOf(owner, id), { pageUrl: urlOf(3), components: ['api'] });
});

test('a catalog vendor is stored without a lookup, and an unknown one is a 400 with near matches', async (t) => {
  const { owner } = await openVendorApi(t);
  const created = await owner('POST', '/v1/monitors', create('github'));
  t.is(created.status, 201, created.text);
  t.like(await vendorOf(owner, created.json['id']), {
    vendorId: 'github',
    pageUrl: 'https://www.githubstatus.com',
    components: [],
  });
  isError(t, await owner('POST', '/v1/monitors', create('cloudflair')), {
    status: 400,
    error: /got "cloudflair"; did you mean cloudflare/,
  });
  t.false(wanted.includes('github'));
});

test('AWS components are validated without a request to AWS', async (t) => {
  const { owner } = await openVendorApi(t);
  const created = await owner(
    'POST',
    '/v1/monitors',
    create('aws', { components: ['ec2:us-east-1', 'CloudFront:global'] }),
  );
  t.is(created.status, 201, created.text);
  t.like(await vendorOf(owner, created.json['id']), {
    vendorId: 'aws',
    probeUrl: 'https://health.aws.amazon.com/public/currentevents',
    components: ['ec2:us-east-1', 'cloudfront:global'],
  });
  isError(t, await owner('POST', '/v1/monitors', create('aws')), { status: 400, error: /at least one service:region/ });
  isError(t, await owner('POST', '/v1/monitors', create('aws', { components: ['ec2:us-east-9'] })), {
    status: 400,
    error: /AWS has no region "us-east-9"; did you mean us-east-1/,
  });
  t.false(wanted.includes('aws'));
});

test('while no worker responds a catalog vendor is stored as sent, and an unknown page is a 400', async (t) => {
  const { owner } = await openVendorApi(t);
  const created = await owner('POST', '/v1/monitors', create('cloudflare', { components: ['Workers'] }));
  t.is(created.status, 201, created.text);
  t.like(await vendorOf(owner, created.json['id']), { vendorId: 'cloudflare', components: ['Workers'] });
  isError(t, await owner('POST', '/v1/monitors', create('https://status.shop.example')), {
    status: 400,
    error: /^target must be a status page that can be read\. .*: try again later$/,
  });
});

test('a draft keeps its components until it has a target to validate them on', async (t) => {
  const page = await startStatusPage(t);
  const { owner } = await openVendorApi(t);
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'Draft', type: 'vendor', components: ['Nowhere'] });
  t.deepEqual(await vendorOf(owner, id), { components: ['Nowhere'] });
  isError(t, await owner('PATCH', `/v1/monitors/${id}`, { target: page.url }), {
    status: 400,
    error: /"Nowhere" is not on the status page/,
  });
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { target: page.url, components: ['API'] })).status, 200);
});

test('the vendor of a read can be sent back, which changes nothing', async (t) => {
  const page = await startStatusPage(t);
  const { owner } = await openVendorApi(t);
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', create(page.url, { components: ['API'] }));
  const vendor = await vendorOf(owner, id);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { check_spec: { vendor } })).status, 200);
  t.deepEqual(await vendorOf(owner, id), vendor);
  t.is(page.requests.length, 1);
});

test('the vendors of the catalog are listed by name, for every reader', async (t) => {
  const { reader } = await openVendorApi(t);
  const { vendors } = (await reader('GET', '/v1/vendors')).json;
  t.deepEqual(vendors.map(({ id }) => id).toSorted(), VENDORS.map(({ id }) => id).toSorted());
  t.deepEqual(
    vendors.find(({ id }) => id === 'aws'),
    { id: 'aws', name: 'AWS', page_url: 'https://health.aws.amazon.com/health/status' },
  );
  t.deepEqual(
    vendors.slice(0, 3).map(({ name }) => name),
    ['1Password', 'Aiven', 'Akamai Linode'],
  );
});

test('the components of a page are listed with their states, and read at most once a minute', async (t) => {
  const page = await startStatusPage(t);
  page.page.components = [
    { id: 'c1', name: 'API', status: 'partial_outage' },
    { id: 'c2', name: 'API', status: 'operational' },
  ];
  const { reader } = await openVendorApi(t);
  const path = `/v1/vendors/components?target=${encodeURIComponent(`${page.url}/history`)}`;
  const response = await reader('GET', path);
  t.deepEqual(
    response.json,
    {
      id: new URL(page.url).host,
      name: 'Shop Cloud',
      page_url: page.url,
      lists: 'all',
      components: [
        { id: 'c1', name: 'API', state: 'partial' },
        { id: 'c2', name: 'API', state: 'operational' },
      ],
      failure: null,
    },
    response.text,
  );
  t.deepEqual((await reader('GET', path)).json, response.json);
  t.is(page.requests.length, 1);
});

test('an unreadable page is returned with the reason, and an unknown vendor is a 400', async (t) => {
  const site = await startStatusPage(t);
  site.instead = { status: 200, body: '<h1>Hello</h1>' };
  const { reader } = await openVendorApi(t);
  const ask = (target: string) => reader('GET', `/v1/vendors/components?target=${encodeURIComponent(target)}`);
  const none = await ask(site.url);
  t.is(none.status, 200, none.text);
  t.deepEqual(none.json['components'], []);
  t.regex(String(none.json['failure']), /it is not JSON$/);
  t.like((await ask('cloudflare')).json, {
    id: 'cloudflare',
    name: 'Cloudflare',
    components: [],
    failure: 'The status page could not be read in time',
  });
  isError(t, await ask('cloudflair'), { status: 400, error: /got "cloudflair"; did you mean cloudflare/ });
  isError(t, await reader('GET', '/v1/vendors/components'), { status: 400, error: /target/ });
});

test('an account has ten reads a minute of pages outside the catalog, and no limit for the catalog', async (t) => {
  const page = await startStatusPage(t);
  const { tenantId, owner, reader, stranger } = await openVendorApi(t);
  await beginLongPeriod(t.context.api, 'read', tenantId);
  const ask = (call: typeof owner, target: string) =>
    call('GET', `/v1/vendors/components?target=${encodeURIComponent(target)}`);
  const statuses: number[] = [];
  for (let count = 0; count < 11; count += 1) statuses.push((await ask(owner, page.url)).status);
  t.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429]);
  t.is((await ask(owner, 'cloudflare')).status, 200);
  t.is((await ask(reader, page.url)).status, 429);
  t.is((await ask(stranger, page.url)).status, 200);
});

test('creations and PATCHes that name a page count toward the same limit of ten a minute', async (t) => {
  const page = await startStatusPage(t);
  page.instead = { status: 200, body: 'none' };
  const { tenantId, owner } = await openVendorApi(t);
  await beginLongPeriod(t.context.api, 'read', tenantId);
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', create('github'));
  const statuses: number[] = [];
  for (let path = 0; path < 8; path += 1)
    statuses.push((await owner('POST', '/v1/monitors', create(`${page.url}/${path}`))).status);
  for (let path = 8; path < 12; path += 1)
    statuses.push((await owner('PATCH', `/v1/monitors/${id}`, { target: `${page.url}/${path}` })).status);
  t.deepEqual(statuses, [...Array.from({ length: 10 }, () => 400), 429, 429]);
  const refused = await owner('POST', '/v1/monitors', create(`${page.url}/12`));
  isError(t, refused, {
    status: 429,
    error: /^at most 10 previews and lookups of status pages .* per minute: wait \d+ s$/,
  });
  t.true(Number(refused.headers.get('retry-after')) > 0);
  t.is((await owner('POST', '/v1/trials', { monitor: { target: 'https://shop.example/' } })).status, 429);
  t.true(page.requests.length <= 10);
});
