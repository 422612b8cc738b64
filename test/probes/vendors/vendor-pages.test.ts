import test from 'ava';
import nock from 'nock';
import type { VendorDocumentRecord, VendorDocumentStore } from '../../../core/checks/vendor/document.ts';
import { findVendorPage } from '../../../core/checks/vendor/page.ts';
import { createVendorPageReader } from '../../../probes/vendor.ts';

nock.disableNetConnect();
test.afterEach.always(() => nock.cleanAll());

/** Reads the page of a catalog vendor once, with an empty store. */
async function read(id: string, components: string[] = []) {
  const records = new Map<string, VendorDocumentRecord>();
  const store: VendorDocumentStore = {
    find: async (url) => records.get(url) ?? null,
    claim: async () => true,
    save: async (record) => void records.set(record.url, record),
  };
  const page = findVendorPage(id);
  if (page === null) throw new Error(`${id} is not in the catalog`);
  return await createVendorPageReader({ store, allowPrivateNetwork: true, now: Date.now })(page, components);
}

const AWS_FEED = (title: string) =>
  '<rss version="2.0"><channel><title>Status</title>' +
  `<item><title>${title}</title><pubDate>${new Date().toUTCString()}</pubDate></item></channel></rss>`;

test.serial("if AWS' events cannot be read, the feeds of the watched components replace them", async (t) => {
  nock('https://health.aws.amazon.com').get('/public/currentevents').reply(500);
  nock('https://status.aws.amazon.com')
    .get('/rss/ec2-us-east-1.rss')
    .reply(200, AWS_FEED('Service disruption: Errors'))
    .get('/rss/iam.rss')
    .reply(200, AWS_FEED('Service is operating normally: [RESOLVED] Errors'));
  const reading = await read('aws', ['ec2:us-east-1', 'iam:global']);
  t.deepEqual(reading.outcome === 'read' && reading.snapshot.components.map(({ id, state }) => [id, state]), [
    ['ec2:us-east-1', 'major'],
    ['iam:global', 'operational'],
  ]);
});

test.serial("if neither AWS' events nor its feeds can be read, the failure of the events is reported", async (t) => {
  nock('https://health.aws.amazon.com').get('/public/currentevents').reply(500);
  nock('https://status.aws.amazon.com').get('/rss/ec2-us-east-1.rss').reply(404);
  t.like(await read('aws', ['ec2:us-east-1']), {
    outcome: 'failed',
    failure: { kind: 'unreachable', reason: 'The status page responded with HTTP 500' },
  });
});

test.serial('Google Cloud is read from its products and its incidents together', async (t) => {
  const incident = {
    external_desc: 'Slow',
    end: null,
    status_impact: 'SERVICE_OUTAGE',
    affected_products: [{ id: 'sql', title: 'Cloud SQL' }],
  };
  nock('https://status.cloud.google.com')
    .get('/incidents.json')
    .reply(200, [incident])
    .get('/products.json')
    .reply(200, {
      products: [
        { id: 'sql', title: 'Cloud SQL' },
        { id: 'run', title: 'Cloud Run' },
      ],
    });
  const reading = await read('google-cloud');
  t.true(reading.outcome === 'read');
  if (reading.outcome === 'read')
    t.like(reading.snapshot, {
      overall: 'partial',
      listsAll: true,
      components: [
        { id: 'sql', state: 'major' },
        { id: 'run', state: 'operational' },
      ],
    });
});

test.serial('an Instatus page is read from its summary and components, and fails without the latter', async (t) => {
  const page = { name: 'Whereby', url: 'https://wherebystatus.com', status: 'UP' };
  nock('https://wherebystatus.com')
    .get('/summary.json')
    .times(2)
    .reply(200, { page })
    .get('/v2/components.json')
    .reply(200, { components: [{ id: 'a', name: 'Video', status: 'OPERATIONAL' }] });
  const reading = await read('whereby');
  t.deepEqual(reading.outcome === 'read' && reading.snapshot, {
    name: 'Whereby',
    overall: 'operational',
    components: [{ id: 'a', name: 'Video', state: 'operational' }],
    listsAll: true,
    events: [],
  });
  nock('https://wherebystatus.com').get('/v2/components.json').reply(503);
  t.is((await read('whereby')).outcome, 'failed');
});

test.serial('Azure and incident.io are read at their own URLs', async (t) => {
  nock('https://azure.status.microsoft')
    .get('/en-us/status/feed/')
    .reply(200, '<rss version="2.0"><channel><title>Azure Status</title></channel></rss>');
  nock('https://status.openai.com')
    .get('/api/v2/summary.json')
    .reply(200, { page: { name: 'OpenAI' }, status: { indicator: 'none' }, components: null, incidents: null });
  t.is((await read('azure')).outcome, 'read');
  t.is((await read('openai')).outcome, 'read');
});
