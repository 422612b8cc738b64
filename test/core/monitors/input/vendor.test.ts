import test from 'ava';
import type { VendorReading } from '../../../../core/checks/vendor/document.ts';
import { findVendorPage } from '../../../../core/checks/vendor/page.ts';
import type { Problem } from '../../../../core/input.ts';
import {
  completeVendor,
  findPageToRead,
  type StoredVendor,
  type VendorInput,
} from '../../../../core/monitors/input/vendor.ts';

const NOTHING: StoredVendor = { target: '', vendor: undefined };
const GITHUB: StoredVendor = {
  target: 'github',
  vendor: { vendorId: 'github', pageUrl: 'p', probeUrl: 'q', components: ['Actions'] },
};
const PAGE = 'https://status.shop.example';

const READ: VendorReading = {
  outcome: 'read',
  latencyMs: 12,
  snapshot: {
    name: 'Shop',
    overall: 'operational',
    components: ['Actions', 'API Requests', 'Git Operations', 'Pages', 'Webhooks', 'Packages'].map((name, index) => ({
      id: `c${index}`,
      name,
      state: 'operational',
    })),
    listsAll: true,
    events: [],
  },
};
const GONE: VendorReading = {
  outcome: 'failed',
  failure: { kind: 'unreachable', reason: 'The status page responded with HTTP 503' },
  latencyMs: null,
};
const NONE: VendorReading = {
  outcome: 'failed',
  failure: { kind: 'not_a_status_page', reason: 'The status page responded with HTTP 404' },
  latencyMs: 3,
};

function complete(input: VendorInput, stored: StoredVendor, reading: VendorReading | null) {
  const problems: Problem[] = [];
  const page = findVendorPage(input.target ?? stored.target);
  return {
    vendor: completeVendor(input, { stored, read: page && reading && { page, reading } }, problems),
    messages: problems.map(({ message }) => message),
  };
}

const NEEDS_A_READING: [what: string, input: VendorInput, stored: StoredVendor, expected: string | null][] = [
  ['a catalog vendor without components', { target: 'github' }, NOTHING, null],
  ['a catalog vendor with components', { target: 'github', components: ['Actions'] }, NOTHING, 'github'],
  ['an unknown page', { target: PAGE }, NOTHING, 'status.shop.example'],
  ['components without a target', { components: ['Actions'] }, NOTHING, null],
  ['an empty change', {}, GITHUB, null],
  ['the same target again', { target: 'github' }, GITHUB, null],
  ['the same components again', { components: ['Actions'] }, GITHUB, null],
  ['other components', { components: ['Pages'] }, GITHUB, 'github'],
  ['cleared components', { components: [] }, GITHUB, null],
  ['another target with the same components', { target: 'cloudflare' }, GITHUB, 'cloudflare'],
  ['AWS, whose components are known without it', { target: 'aws', components: ['ec2:us-east-1'] }, NOTHING, null],
  ['Azure, which has no components', { target: 'azure', components: ['x'] }, NOTHING, null],
  ['an unknown vendor', { target: 'gihub', components: ['x'] }, NOTHING, null],
];
for (const [what, input, stored, expected] of NEEDS_A_READING) {
  test(`${expected === null ? 'no page' : 'the page'} is read for ${what}`, (t) =>
    t.is(findPageToRead(input, stored)?.vendorId ?? null, expected));
}

test('components given by name or id are stored once each, as the page spells them', (t) => {
  const { vendor, messages } = complete(
    { target: 'github', components: ['actions', ' API requests ', 'C0', 'c3'] },
    NOTHING,
    READ,
  );
  t.deepEqual(messages, []);
  t.deepEqual(vendor.components, ['Actions', 'API Requests', 'Pages']);
});

test('an unknown component is refused with suggestions', (t) => {
  const { messages } = complete(
    { target: 'github', components: ['Action', 'Gti Operations', 'Kitchen'] },
    NOTHING,
    READ,
  );
  t.deepEqual(messages, [
    'components must be parts of GitHub: "Action" is not on the status page; did you mean "Actions"?',
    'components must be parts of GitHub: "Gti Operations" is not on the status page; did you mean "Git Operations"?',
    'components must be parts of GitHub: "Kitchen" is not on the status page; it has "Actions", "API Requests", ' +
      '"Git Operations", "Pages", "Webhooks" and 1 more',
  ]);
});

test('at most five unknown components are reported, as each is compared with the whole page', (t) => {
  const { messages } = complete(
    { target: 'github', components: Array.from({ length: 100 }, (_, index) => `Kitchen ${index}`) },
    NOTHING,
    READ,
  );
  t.is(messages.length, 5);
  t.regex(messages[4] ?? '', /"Kitchen 4"/);
});

/** A page of 1,100 components with long names that all have the same letters. */
const LONG_NAMES = Array.from({ length: 1100 }, (_, index) => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'.repeat(2);
  const at = index % letters.length;
  return `${letters.slice(at)}${letters.slice(0, at)} ${String(index).padStart(4, '0')}`;
});
const LONG: VendorReading = {
  ...READ,
  snapshot: {
    ...READ.snapshot,
    components: LONG_NAMES.map((name, index) => ({ id: `c${index}`, name, state: 'operational' })),
  },
};

test('suggestions of a long page find swapped letters, and end with the second unknown component', (t) => {
  const misspelt = [1099, 5, 700, 20].map((index) => LONG_NAMES[index]?.replace('mn', 'nm') ?? '');
  const { messages } = complete({ target: 'github', components: misspelt }, NOTHING, LONG);
  t.true(messages[0]?.includes(`did you mean ${JSON.stringify(LONG_NAMES[1099])}`));
  t.true(messages[1]?.includes(`did you mean ${JSON.stringify(LONG_NAMES[5])}`));
  t.regex(messages[2] ?? '', /; it has "abc[^;]* and 1095 more$/);
  t.regex(messages[3] ?? '', /; it has /);
});

test('a long page is compared with unknown components 30 times in under 1.5 s of CPU time', (t) => {
  const unknown = Array.from({ length: 5 }, (_, index) => `${'zyxwvutsrqponmlkjihgfedcba'.repeat(2)} ${index}${index}`);
  const before = process.threadCpuUsage().user;
  for (let times = 0; times < 30; times += 1)
    t.is(complete({ target: 'github', components: unknown }, NOTHING, LONG).messages.length, 5);
  t.true((process.threadCpuUsage().user - before) / 1000 < 1500);
});

test('kept components are validated against the page of a new target', (t) => {
  t.deepEqual(complete({ target: 'cloudflare' }, GITHUB, READ).vendor.components, ['Actions']);
  t.regex(
    complete({ target: 'cloudflare' }, { ...GITHUB, vendor: { components: ['Gone'] } }, READ).messages[0] ?? '',
    /"Gone" is not on the status page/,
  );
});

test('components are validated only against the page of their own vendor', (t) => {
  const problems: Problem[] = [];
  const page = findVendorPage('cloudflare');
  const read = page && { page, reading: READ };
  t.deepEqual(completeVendor({ components: ['Kitchen'] }, { stored: GITHUB, read }, problems).components, ['Kitchen']);
  completeVendor({ target: PAGE }, { stored: NOTHING, read }, problems);
  t.deepEqual(
    problems.map(({ message }) => message),
    ['target must be a status page that can be read. The status page was not read: try again later'],
  );
});

test('a catalog vendor is accepted with any components while its page cannot be read', (t) => {
  for (const reading of [GONE, NONE, null]) {
    const { vendor, messages } = complete({ target: 'github', components: ['Anything'] }, NOTHING, reading);
    t.deepEqual(messages, []);
    t.like(vendor, { vendorId: 'github', components: ['Anything'] });
  }
});

test('a page outside the catalog is accepted only after it was read as a status page', (t) => {
  t.deepEqual(complete({ target: PAGE }, NOTHING, READ), {
    vendor: { vendorId: 'status.shop.example', pageUrl: PAGE, probeUrl: `${PAGE}/api/v2/summary.json`, components: [] },
    messages: [],
  });
  t.regex(
    complete({ target: PAGE }, NOTHING, NONE).messages[0] ?? '',
    /^target must be the URL of an Atlassian Statuspage .*HTTP 404$/,
  );
  t.regex(
    complete({ target: PAGE }, NOTHING, GONE).messages[0] ?? '',
    /^target must be a status page that can be read\. .*HTTP 503: try again later$/,
  );
  t.regex(complete({ target: PAGE }, NOTHING, null).messages[0] ?? '', /was not read: try again later$/);
});

test('a change without target and components keeps the stored vendor, even an unknown one', (t) => {
  const gone: StoredVendor = {
    target: 'a-vendor-of-yesterday',
    vendor: { vendorId: 'a-vendor-of-yesterday', components: ['x'] },
  };
  t.deepEqual(complete({}, gone, null), { vendor: gone.vendor ?? {}, messages: [] });
  t.deepEqual(complete({ target: gone.target, components: ['x'] }, gone, null).messages, [], 'nor with the same ones');
});

const REFUSED: [VendorInput, string][] = [
  [
    { target: 'gihub' },
    'target must be the id of a vendor in the catalog, such as github, or the URL of a status page, got ' +
      '"gihub"; did you mean github?',
  ],
  [{ target: 'aws' }, 'components must be at least one service:region, such as ec2:us-east-1, for AWS, got none'],
  [
    { target: 'aws', components: ['ec2'] },
    'components must be parts of AWS: "ec2" is not a service:region, such as ec2:us-east-1',
  ],
  [
    { target: 'aws', components: ['ec3:us-east-1'] },
    'components must be parts of AWS: AWS has no service "ec3" with regions; did you mean ec2:us-east-1, ' +
      'ecr:us-east-1, ecs:us-east-1, eks:us-east-1, elb:us-east-1?',
  ],
  [
    { target: 'aws', components: ['route53:us-east-1'] },
    'components must be parts of AWS: AWS has no service "route53" with regions; did you mean route53:global, ' +
      'route53privatedns:us-east-1, route53resolver:us-east-1?',
  ],
  [
    { target: 'aws', components: ['ec2:us-esat-1'] },
    'components must be parts of AWS: AWS has no region "us-esat-1"; did you mean us-east-1, us-west-1, ' +
      'us-east-2, us-west-2?',
  ],
  [{ target: 'azure', components: ['Storage'] }, 'components must be omitted for Azure: its status feed lists none'],
];
for (const [input, message] of REFUSED)
  test(`${JSON.stringify(input)} is refused with a suggested fix`, (t) =>
    t.deepEqual(complete(input, NOTHING, null).messages, [message]));

test('AWS components are stored in a normalized spelling', (t) =>
  t.deepEqual(
    complete({ target: 'aws', components: ['EC2:us-east-1 ', 'IAM:global'] }, NOTHING, null).vendor.components,
    ['ec2:us-east-1', 'iam:global'],
  ));
