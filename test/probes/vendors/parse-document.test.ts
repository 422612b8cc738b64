import test from 'ava';
import { z } from 'zod';
import type { VendorFormat } from '../../../core/checks/vendor/document.ts';
import type { VendorSnapshot } from '../../../core/checks/vendor/snapshot.ts';
import { listOf } from '../../../probes/vendors/document-text.ts';
import { parseVendorDocument } from '../../../probes/vendors/parse-document.ts';

const NOW = Date.parse('2026-09-23T12:00:00Z');

function parse(format: VendorFormat, body: unknown, component?: string) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return parseVendorDocument(
    bytes,
    {
      url: 'https://x.example/',
      format,
      minAgeMs: 1,
      maxStoredBytes: 524_288,
      isInCatalog: false,
      ...(component !== undefined && { component }),
    },
    NOW,
  );
}

function read(format: VendorFormat, body: unknown, component?: string): VendorSnapshot {
  const parsed = parse(format, body, component);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value;
}

const STATUSPAGE = {
  page: {
    id: 'kctbh9vrtdwd',
    name: 'GitHub',
    url: 'https://www.githubstatus.com',
    time_zone: 'Etc/UTC',
    updated_at: '2026-09-23T11:00:00.000Z',
  },
  components: [
    {
      id: '8l4ygp009s5s',
      name: 'Git Operations',
      status: 'operational',
      position: 1,
      group: false,
      group_id: null,
      only_show_if_degraded: false,
    },
    {
      id: 'br0l2tvcx85d',
      name: 'Actions',
      status: 'partial_outage',
      position: 2,
      group: false,
      group_id: 'vg70hn9s2tyj',
    },
    {
      id: 'vg70hn9s2tyj',
      name: 'Builds',
      status: 'partial_outage',
      position: 3,
      group: true,
      components: ['br0l2tvcx85d'],
    },
    { id: 'st3j38cctv9l', name: 'Packages', status: 'under_maintenance', position: 4, group: false },
  ],
  incidents: [
    {
      id: 'i1',
      name: 'Disruption with <b>Actions</b>',
      status: 'investigating',
      impact: 'minor',
      components: [{ id: 'br0l2tvcx85d', name: 'Actions' }],
      incident_updates: [],
    },
    { id: 'i2', name: 'An old one', status: 'resolved', impact: 'major', components: [] },
  ],
  scheduled_maintenances: [
    {
      id: 'm1',
      name: 'Packages move',
      status: 'in_progress',
      impact: 'maintenance',
      components: [{ id: 'st3j38cctv9l' }],
    },
    { id: 'm2', name: 'Next week', status: 'scheduled', impact: 'maintenance', components: [{ id: 'st3j38cctv9l' }] },
  ],
  status: { indicator: 'minor', description: 'Partially Degraded Service' },
};

test('a Statuspage summary is read with its components and its current events', (t) => {
  t.deepEqual(read('statuspage-summary', STATUSPAGE), {
    name: 'GitHub',
    overall: 'degraded',
    components: [
      { id: '8l4ygp009s5s', name: 'Git Operations', state: 'operational' },
      { id: 'br0l2tvcx85d', name: 'Actions', state: 'partial' },
      { id: 'vg70hn9s2tyj', name: 'Builds', state: 'partial' },
      { id: 'st3j38cctv9l', name: 'Packages', state: 'maintenance' },
    ],
    listsAll: true,
    events: [
      { title: 'Disruption with Actions', componentIds: ['br0l2tvcx85d'] },
      { title: 'Packages move', componentIds: ['st3j38cctv9l'] },
    ],
  });
});

test('ids and names with any characters are cleaned for storage', (t) => {
  const id = `a\u0000b\ud800${'c'.repeat(5000)}`;
  const { components, events } = read('statuspage-summary', {
    ...STATUSPAGE,
    components: [{ id, name: 'x\u0000y', status: 'major_outage' }],
    incidents: [{ name: 'z\u0000', status: 'investigating', components: [{ id }] }],
    scheduled_maintenances: [],
  });
  t.deepEqual(events, [{ title: 'z', componentIds: [components[0]?.id ?? ''] }]);
  t.is(components[0]?.id.length, 200);
  t.true(components[0]?.id.startsWith('a b\ufffdccc'));
});

test('the Statuspage indicator is the overall state, but "major" with a partial outage is partial', (t) => {
  const overall = (indicator: string, description: string) =>
    read('statuspage-summary', { ...STATUSPAGE, status: { indicator, description } }).overall;
  t.deepEqual(
    [
      ['none', 'All Systems Operational'],
      ['maintenance', 'Service Under Maintenance'],
      ['major', 'Partial System Outage'],
      ['major', 'Major Service Outage'],
      ['critical', 'Critical'],
    ].map(([indicator = '', description = '']) => overall(indicator, description)),
    ['operational', 'maintenance', 'partial', 'major', 'major'],
  );
});

test('an incident.io page may have null for empty lists, and incidents that name no components', (t) => {
  const body = {
    page: {
      id: '01JMDK9XYNY05ND8ZZ0K0XJWWA',
      name: 'OpenAI',
      url: 'https://status.openai.com/',
      updated_at: '2026-09-23T11:00:00Z',
    },
    status: { indicator: 'none', description: 'All Systems Operational' },
    components: [
      { id: '01JMXBRMFE6N2NNT7DG6XZQ6PW', name: 'Chat Completions', status: 'operational', position: 0 },
      { id: '01B', name: 'Sora', status: 'full_outage', position: 1 },
    ],
    incidents: null,
    scheduled_maintenances: null,
  };
  t.deepEqual(read('statuspage-summary', body), {
    name: 'OpenAI',
    overall: 'operational',
    components: [
      { id: '01JMXBRMFE6N2NNT7DG6XZQ6PW', name: 'Chat Completions', state: 'operational' },
      { id: '01B', name: 'Sora', state: 'major' },
    ],
    listsAll: true,
    events: [],
  });
  const incidents = [
    {
      id: '01M',
      name: 'Elevated Error Rates',
      status: 'identified',
      impact: 'minor',
      shortlink: null,
      incident_updates: [],
    },
  ];
  t.deepEqual(read('statuspage-summary', { ...body, incidents }).events, [
    { title: 'Elevated Error Rates', componentIds: [] },
  ]);
});

test('an Instatus page may omit empty lists, and takes its state from its incidents', (t) => {
  const page = { name: 'Wistia', url: 'https://status.wistia.com', status: 'UP' };
  t.deepEqual(read('instatus-summary', { page }), {
    name: 'Wistia',
    overall: 'operational',
    components: [],
    listsAll: false,
    events: [],
  });
  const body = {
    page: { ...page, status: 'HASISSUES' },
    activeIncidents: [
      {
        name: 'API trouble',
        started: '2026-09-23T10:00:00Z',
        status: 'INVESTIGATING',
        impact: 'MAJOROUTAGE',
        url: 'https://x',
      },
    ],
    activeMaintenances: [
      { name: 'Later', start: '2026-09-24T10:00:00Z', status: 'NOTSTARTEDYET', duration: '60' },
      { name: 'Now', start: '2026-09-23T10:00:00Z', status: 'INPROGRESS', duration: '60' },
    ],
  };
  t.like(read('instatus-summary', body), {
    overall: 'partial',
    events: [
      { title: 'API trouble', componentIds: [] },
      { title: 'Now', componentIds: [] },
    ],
  });
  t.is(read('instatus-summary', { page: { ...page, status: 'UNDERMAINTENANCE' } }).overall, 'maintenance');
});

test('Instatus lists components bare or in an object, with children or in groups', (t) => {
  const parts = [
    {
      id: 'a',
      name: 'API',
      status: 'DEGRADEDPERFORMANCE',
      description: '',
      isParent: true,
      children: [{ id: 'b', name: 'Europe', status: 'MAJOROUTAGE' }],
    },
    { id: 'c', name: 'Site', status: 'OPERATIONAL', group: null, children: null },
  ];
  const expected = [
    { id: 'a', name: 'API', state: 'degraded' },
    { id: 'b', name: 'Europe', state: 'major' },
    { id: 'c', name: 'Site', state: 'operational' },
  ];
  t.deepEqual(read('instatus-components', parts).components, expected as VendorSnapshot['components']);
  t.deepEqual(read('instatus-components', { components: parts }).components, expected as VendorSnapshot['components']);
});

const AWS_OVER = {
  date: '1678726651',
  region_name: 'Oregon',
  status: '0',
  service: 'internetconnectivity-us-west-2',
  service_name: 'AWS Internet Connectivity',
  summary: '[RESOLVED] Internet Connectivity in the US-WEST-2 Region',
  end_time: '1678727476',
  event_log: [
    {
      summary: '[RESOLVED] Internet Connectivity in the US-WEST-2 Region',
      message: 'The issue has been resolved',
      status: 1,
      timestamp: 1_678_726_620,
    },
  ],
  impacted_services: { 'ec2-us-west-2': { service_name: 'Amazon Elastic Compute Cloud', current: '0', max: '1' } },
};
const AWS_OPEN = {
  date: '1790150000',
  arn: 'arn:aws:health:us-east-1::event/X',
  region_name: 'N. Virginia',
  status: '3',
  service: 'multipleservices-us-east-1',
  service_name: 'Multiple services',
  summary: 'Increased Error Rates and Latencies',
  event_log: [
    { summary: 'Service disruption: Increased Error Rates', message: 'later', status: 3, timestamp: 1_790_151_000 },
    { summary: 'Increased Error Rates', message: 'first', status: 1, timestamp: 1_790_150_000 },
  ],
  impacted_services: {
    'ec2-us-east-1': { service_name: 'Amazon Elastic Compute Cloud', current: '3', max: '3' },
    iam: { service_name: 'AWS Identity and Access Management', current: '1', max: '1' },
  },
};

function utf16(value: unknown, isBigEndian: boolean): Buffer {
  const bytes = Buffer.from(`\uFEFF${JSON.stringify(value)}`, 'utf16le');
  return isBigEndian ? bytes.swap16() : bytes;
}

test('AWS events are read as UTF-16 by their byte-order mark, and as UTF-8 without one', (t) => {
  for (const body of [utf16([AWS_OPEN], true), utf16([AWS_OPEN], false), Buffer.from(JSON.stringify([AWS_OPEN]))])
    t.is(read('aws-events', body).components.length, 3);
});

test('an AWS event is over if its end has passed or it says that it is resolved', (t) => {
  const { end_time: _end, ...resolved } = AWS_OVER;
  const ended = { ...AWS_OVER, summary: 'Internet Connectivity', event_log: [] };
  t.deepEqual(read('aws-events', [AWS_OVER, resolved, ended]), {
    name: null,
    overall: 'operational',
    components: [],
    listsAll: false,
    events: [],
  });
  t.deepEqual(read('aws-events', []).overall, 'operational');
  t.is(read('aws-events', [{ ...ended, end_time: NOW / 1000 + 60 }]).events.length, 1);
  for (const nothing of [null, '', 0, '0'])
    t.is(read('aws-events', [{ ...ended, end_time: nothing }]).events.length, 1, `end_time ${JSON.stringify(nothing)}`);
});

test('an open AWS event is as bad as its newest update, for every service that it names', (t) => {
  t.deepEqual(read('aws-events', [AWS_OPEN]), {
    name: null,
    overall: 'partial',
    components: [
      { id: 'multipleservices:us-east-1', name: 'Multiple services (us-east-1)', state: 'major' },
      { id: 'ec2:us-east-1', name: 'Amazon Elastic Compute Cloud (us-east-1)', state: 'major' },
      { id: 'iam:global', name: 'AWS Identity and Access Management (global)', state: 'major' },
    ],
    listsAll: false,
    events: [
      {
        title: 'Increased Error Rates and Latencies',
        componentIds: ['multipleservices:us-east-1', 'ec2:us-east-1', 'iam:global'],
      },
    ],
  });
  t.is(read('aws-events', [{ ...AWS_OPEN, event_log: [] }]).components[0]?.state, 'degraded');
  t.deepEqual(
    read('aws-events', [{ ...AWS_OPEN, impacted_services: {} }]).components.map(({ id }) => id),
    ['*:us-east-1'],
  );
});

function rss(title: string, ...items: [title: string, date: string][]): string {
  const entries = items.map(
    ([name, date]) =>
      `<item><title><![CDATA[${name}]]></title><link>http://status.aws.amazon.com/</link><pubDate>${date}</pubDate>` +
      '<guid isPermaLink="false">x</guid><description><![CDATA[Words & <b>more</b>]]></description></item>',
  );
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>${title}</title>` +
    `<link>http://status.aws.amazon.com/</link><ttl>5</ttl>${entries.join('')}</channel></rss>`
  );
}

const FEED_STATES: [what: string, items: [string, string][], state: string][] = [
  ['without entries', [], 'operational'],
  [
    'whose newest entry is a resolution',
    [
      ['Service disruption: Errors', 'Wed, 23 Sep 2026 01:00:00 PDT'],
      ['Service is operating normally: [RESOLVED] Errors', 'Wed, 23 Sep 2026 02:00:00 PDT'],
    ],
    'operational',
  ],
  [
    'whose newest entry is a disruption',
    [
      ['Service is operating normally: [RESOLVED] Old', 'Tue, 22 Sep 2026 01:00:00 PDT'],
      ['Service disruption: Errors', 'Wed, 23 Sep 2026 01:00:00 PDT'],
    ],
    'major',
  ],
  [
    'whose newest entry is about performance',
    [['Performance issues: Increased latencies', 'Wed, 23 Sep 2026 01:00:00 PDT']],
    'degraded',
  ],
  [
    'whose newest entry is old and unresolved',
    [['Service disruption: Errors', 'Wed, 02 Sep 2026 01:00:00 PDT']],
    'operational',
  ],
];
for (const [what, items, state] of FEED_STATES) {
  test(`an AWS feed ${what} is ${state}`, (t) => {
    t.deepEqual(read('aws-feed', rss('Amazon EC2 Service Status', ...items), 'ec2:us-east-1').components, [
      { id: 'ec2:us-east-1', name: 'ec2:us-east-1', state: state as 'major' },
    ]);
  });
}

const GOOGLE = {
  id: 'B5V4',
  begin: '2026-09-23T09:00:00+00:00',
  end: null,
  external_desc: '**Title:**\nElevated latencies in us-central1\n**Description**',
  severity: 'medium',
  status_impact: 'SERVICE_DISRUPTION',
  service_name: 'Multiple Products',
  affected_products: [
    { title: 'Cloud SQL', id: 'sql' },
    { title: 'Cloud Run', id: 'run' },
  ],
  currently_affected_locations: [{ title: 'Iowa (us-central1)', id: 'us-central1' }],
  most_recent_update: { when: '2026-09-23T11:00:00+00:00', status: 'SERVICE_DISRUPTION', text: 'x' },
  uri: 'incidents/B5V4',
};

test("Google's open incidents affect their products; ended, recovered and informational ones do not", (t) => {
  const over = [
    { ...GOOGLE, end: '2026-09-23T10:00:00+00:00' },
    { ...GOOGLE, most_recent_update: { status: 'AVAILABLE' } },
    { ...GOOGLE, status_impact: 'SERVICE_INFORMATION' },
  ];
  t.deepEqual(read('google-incidents', over), {
    name: null,
    overall: 'operational',
    components: [],
    listsAll: false,
    events: [],
  });
  t.deepEqual(read('google-incidents', [GOOGLE, ...over]), {
    name: null,
    overall: 'degraded',
    components: [
      { id: 'sql', name: 'Cloud SQL', state: 'degraded' },
      { id: 'run', name: 'Cloud Run', state: 'degraded' },
    ],
    listsAll: false,
    events: [{ title: 'Elevated latencies in us-central1', componentIds: ['sql', 'run'] }],
  });
  const outage = read('google-incidents', [{ ...GOOGLE, status_impact: 'SERVICE_OUTAGE' }]);
  t.is(outage.overall, 'partial');
  t.is(outage.components[0]?.state, 'major');
});

test("Google's product list is the complete list of components", (t) => {
  t.like(read('google-products', { products: [{ title: 'Cloud SQL', id: 'sql', current_title: 'Cloud SQL' }] }), {
    listsAll: true,
    components: [{ id: 'sql', name: 'Cloud SQL', state: 'operational' }],
  });
});

test("Azure's feed is operational if empty or resolved, and any other entry is an event", (t) => {
  t.like(read('azure-feed', rss('Azure Status')), { overall: 'operational', events: [] });
  t.like(
    read(
      'azure-feed',
      rss(
        'Azure Status',
        ['Network - West US - Resolved', 'Wed, 23 Sep 2026 10:00:00 Z'],
        ['[RESOLVED] Storage', 'Wed, 23 Sep 2026 10:00:00 Z'],
      ),
    ),
    { overall: 'operational' },
  );
  t.deepEqual(
    read(
      'azure-feed',
      rss('Azure Status', ['Resolved in North Europe, continues in West Europe', 'Wed, 23 Sep 2026 10:00:00 Z']),
    ).events,
    [{ title: 'Resolved in North Europe, continues in West Europe', componentIds: [] }],
  );
});

const MISFITS: [VendorFormat, unknown, RegExp][] = [
  ['statuspage-summary', '<!doctype html><html></html>', /not JSON/],
  ['statuspage-summary', '', /not JSON/],
  ['statuspage-summary', { status: 'ok' }, /another form \(at status\)/],
  ['statuspage-summary', { status: { indicator: 'purple' } }, /another form \(at status\.indicator\)/],
  [
    'statuspage-summary',
    { ...STATUSPAGE, components: [{ id: 'x', name: 'X', status: 'on_fire' }] },
    /another form \(at components\.0\.status\)/,
  ],
  ['statuspage-summary', [], /another form/],
  ['instatus-summary', { page: { name: 'X', status: 'WHATEVER' } }, /another form/],
  ['instatus-components', { parts: [] }, /another form/],
  ['aws-events', { events: [] }, /another form/],
  ['google-incidents', [{ id: 'x' }], /another form/],
  ['google-products', [], /another form/],
  ['azure-feed', '<Error><Code>AccessDenied</Code></Error>', /not an RSS feed/],
  ['azure-feed', '<rss version="2.0"><channel></channel></rss>', /not an RSS feed/],
  ['azure-feed', '<rss><channel><title>x</title>', /not XML|not an RSS feed/],
  [
    'azure-feed',
    `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "${'&a;'.repeat(1000)}"><!ENTITY c ` +
      `"${'&b;'.repeat(1000)}">]><rss><channel><title>&c;</title></channel></rss>`,
    /not XML|not an RSS feed/,
  ],
  ['aws-feed', 'sign in', /not XML|not an RSS feed/],
];
for (const [index, [format, body, message]] of MISFITS.entries()) {
  test(`a document that is not ${format} is rejected with a reason (${index})`, (t) => {
    const parsed = parse(format, body);
    t.false(parsed.ok);
    if (!parsed.ok) t.regex(parsed.message, message);
  });
}

test('at most 2,000 components are kept, with names of at most 200 characters', (t) => {
  const components = Array.from({ length: 3000 }, (_, index) => ({
    id: String(index),
    name: 'x'.repeat(1000),
    status: 'operational',
  }));
  const snapshot = read('statuspage-summary', { ...STATUSPAGE, components });
  t.is(snapshot.components.length, 2000);
  t.is(snapshot.components[0]?.name.length, 200);
});

test('a stored page is limited in bytes: the last components and events are dropped', (t) => {
  const ids = Array.from({ length: 2000 }, (_, no) => `component-${no}`);
  const body = {
    ...STATUSPAGE,
    components: ids.map((id) => ({ id, name: 'n'.repeat(200), status: 'operational' })),
    incidents: Array.from({ length: 50 }, (_, no) => ({
      name: `Incident ${no}`,
      status: 'investigating',
      components: ids.map((id) => ({ id })),
    })),
  };
  for (const maxStoredBytes of [131_072, 524_288]) {
    const parsed = parseVendorDocument(
      Buffer.from(JSON.stringify(body)),
      { url: 'https://x.example/', format: 'statuspage-summary', minAgeMs: 1, maxStoredBytes, isInCatalog: false },
      NOW,
    );
    if (!parsed.ok) throw new Error(parsed.message);
    const bytes = Buffer.byteLength(JSON.stringify(parsed.value));
    t.true(bytes <= maxStoredBytes && bytes > maxStoredBytes / 2, String(bytes));
    t.is(parsed.value.components[0]?.id, 'component-0');
  }
});

test('a list is read up to the first invalid item', (t) => {
  let tried = 0;
  const number = z.unknown().refine((item) => {
    tried += 1;
    return typeof item === 'number';
  });
  const result = listOf(number).safeParse([1, 2, 'three', 'four', 'five']);
  t.deepEqual(result.error?.issues[0]?.path, [2]);
  t.is(tried, 3);
  t.deepEqual(listOf(number).parse([1, 2]), [1, 2]);
});
