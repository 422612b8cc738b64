import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import nock from 'nock';
import { until } from '../helpers/until.ts';
import { DISGUISED_URLS, ELSEWHERE, LOOPBACK, NAMES } from './address-forms.ts';
import { startWatchman, takeOverResolver, type Resolver, type Watchman } from './private-network.ts';
import { openWaysIn, type WaysIn } from './ways-in.ts';

/** The first hop has to be a public host, which no test can have of its own. */
const PUBLIC = 'http://public.example';
const NOWHERE = { host: '127.0.0.1', port: 9 };

let watchman: Watchman;
let resolver: Resolver;
let guarded: WaysIn;
let unguarded: WaysIn;

test.before(async () => {
  watchman = await startWatchman();
  resolver = takeOverResolver();
  nock.enableNetConnect();
  guarded = openWaysIn({ allowPrivateNetwork: false, timeoutMs: 5000, root: NOWHERE, refer: () => undefined });
  unguarded = openWaysIn({ allowPrivateNetwork: true, timeoutMs: 300, root: NOWHERE, refer: () => undefined });
});

test.after.always(async () => {
  nock.restore();
  await guarded.close();
  await unguarded.close();
  resolver.restore();
  watchman.close();
});

/** What follows redirects, and the path at the public host at which each asks first. */
const FOLLOWERS = { http: '/', vendor: '/api/v2/summary.json', rdap: '/domain/shop.example' } as const;
const STATUSES = [301, 302, 303, 307, 308] as const;

for (const [follower, path] of Object.entries(FOLLOWERS) as [keyof typeof FOLLOWERS, string][]) {
  const locations = (port: number) => [
    ...[...LOOPBACK, ...ELSEWHERE, ...Object.keys(NAMES)].map((host) => `http://${host}:${port}/`),
    // One with a scheme and no slashes is a path of the public host.
    ...DISGUISED_URLS.map((make) => make(port).replaceAll(/\s/g, '')).filter((url) => !url.startsWith('http:1')),
    `//127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}/`,
  ];

  test.serial(`no redirect of a public host to any private address is followed by ${follower}`, async (t) => {
    const before = watchman.connections();
    for (const [index, location] of locations(watchman.port).entries()) {
      nock(PUBLIC)
        .get(path)
        .reply(STATUSES[index % STATUSES.length], '', { Location: Buffer.from(location).toString('latin1') });
      t.regex(
        await guarded.toUrls[follower](`${PUBLIC}/`),
        /blocked|no public address|nxdomain|does not resolve|too_many|HTTP 30/i,
        location,
      );
      t.true(nock.isDone(), location);
    }
    await turn();
    t.is(watchman.connections(), before);
  });

  test.serial(`without the guard such a redirect is followed by ${follower}`, async (t) => {
    for (const host of ['127.0.0.1', '127.1', 'loopback.example']) {
      const before = watchman.connections();
      nock(PUBLIC)
        .get(path)
        .reply(302, '', { Location: `http://${host}:${watchman.port}/` });
      await unguarded.toUrls[follower](`${PUBLIC}/`);
      t.true(await until(() => watchman.connections() > before), host);
    }
  });
}

test.serial(
  'a redirect to a public name that has turned private meanwhile is not followed, and neither is one over several hops',
  async (t) => {
    const before = watchman.connections();
    resolver.answers.set('public.example', [['127.0.0.1']]);
    nock(PUBLIC).get('/').reply(302, '', { Location: '/next' });
    nock(PUBLIC)
      .get('/next')
      .reply(307, '', { Location: `http://public.example:${watchman.port}/` });
    t.is(await guarded.toUrls.http(`${PUBLIC}/`), 'blocked_target');
    t.is(watchman.connections(), before);
  },
);
