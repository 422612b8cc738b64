import { readFile } from 'node:fs/promises';
import test from 'ava';
import { VENDORS } from '../../../../core/checks/vendor/catalog.ts';
import { listVendorDocuments } from '../../../../core/checks/vendor/document.ts';
import { findVendorPage } from '../../../../core/checks/vendor/page.ts';
import { parseTarget } from '../../../../core/monitors/targets.ts';

test('the catalog has at least 60 vendors, with unique ids valid as targets and unique hosts', (t) => {
  t.true(VENDORS.length >= 60);
  t.is(new Set(VENDORS.map(({ id }) => id)).size, VENDORS.length);
  const hosts = VENDORS.flatMap((vendor) => vendor.hosts);
  t.is(new Set(hosts).size, hosts.length);
  for (const { id } of VENDORS) t.true(parseTarget('vendor', id).ok, id);
  for (const host of hosts) t.is(URL.parse(`https://${host}/`)?.host, host);
});

test('every vendor has valid page URLs', (t) => {
  for (const { id } of VENDORS) {
    const page = findVendorPage(id);
    if (page === null) return t.fail(id);
    for (const { url } of listVendorDocuments(page, ['ec2:us-east-1', 'iam:global']).flat())
      t.is(URL.parse(url)?.href, url);
  }
  return t.pass();
});

test('the documentation lists the whole catalog', async (t) => {
  const text = await readFile(new URL('../../../../docs/monitors.md', import.meta.url), 'utf8');
  t.deepEqual(
    VENDORS.map(({ id }) => id).filter((id) => !text.includes(`\`${id}\``)),
    [],
  );
});

const PAGES: [target: string, vendorId: string | null, probeUrl?: string][] = [
  ['github', 'github', 'https://www.githubstatus.com/api/v2/summary.json'],
  ['https://www.githubstatus.com/history', 'github', 'https://www.githubstatus.com/api/v2/summary.json'],
  ['http://githubstatus.com', 'github', 'https://www.githubstatus.com/api/v2/summary.json'],
  ['https://STATUS.anthropic.com/incidents/x', 'anthropic', 'https://status.claude.com/api/v2/summary.json'],
  ['openai', 'openai', 'https://status.openai.com/api/v2/summary.json'],
  ['whereby', 'whereby', 'https://wherebystatus.com/summary.json'],
  ['https://status.aws.amazon.com/', 'aws', 'https://health.aws.amazon.com/public/currentevents'],
  ['google-cloud', 'google-cloud', 'https://status.cloud.google.com/incidents.json'],
  ['azure', 'azure', 'https://azure.status.microsoft/en-us/status/feed/'],
  ['https://status.shop.example', 'status.shop.example', 'https://status.shop.example/api/v2/summary.json'],
  [
    'https://status.shop.example/api/v2/summary.json?x=1#y',
    'status.shop.example',
    'https://status.shop.example/api/v2/summary.json',
  ],
  ['http://127.0.0.1:8080/shop/', '127.0.0.1:8080', 'http://127.0.0.1:8080/shop/api/v2/summary.json'],
  [
    'https://status.shop.example/shop/history.rss',
    'status.shop.example',
    'https://status.shop.example/shop/api/v2/summary.json',
  ],
  [
    'https://www.githubstatus.com:8443/',
    'www.githubstatus.com:8443',
    'https://www.githubstatus.com:8443/api/v2/summary.json',
  ],
  ['gihub', null],
  ['ftp://www.githubstatus.com', null],
  ['', null],
];
for (const [target, vendorId, probeUrl] of PAGES) {
  test(`the target ${JSON.stringify(target)} is ${vendorId ?? 'no vendor'}`, (t) => {
    const page = findVendorPage(target);
    t.is(page?.vendorId ?? null, vendorId);
    t.is(page?.probeUrl, probeUrl);
  });
}

test('AWS is read from its events, or else from the feeds of its components if these are few', (t) => {
  const page = findVendorPage('aws');
  if (page === null) return t.fail();
  const urls = (components: string[]) =>
    listVendorDocuments(page, components).map((group) => group.map(({ url }) => url));
  const events = ['https://health.aws.amazon.com/public/currentevents'];
  t.deepEqual(urls(['ec2:us-east-1', 'iam:global']), [
    events,
    ['https://status.aws.amazon.com/rss/ec2-us-east-1.rss', 'https://status.aws.amazon.com/rss/iam.rss'],
  ]);
  return t.deepEqual(urls(Array.from({ length: 11 }, () => 'ec2:us-east-1')), [events]);
});

test('vendor ids are case-insensitive', (t) => {
  t.deepEqual(findVendorPage('GitHub'), findVendorPage('github'));
});
