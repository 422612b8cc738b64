import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { openPublicHost, PUBLIC_HOST } from '../helpers/public-host.ts';
import { until } from '../helpers/until.ts';
import { DISGUISED_URLS, ELSEWHERE, LOOPBACK, NAMES } from './address-forms.ts';
import { startWatchman, takeOverResolver, type Resolver, type Watchman } from './private-network.ts';
import { openWaysIn, type WaysIn } from './ways-in.ts';

const PUBLIC = `http://${PUBLIC_HOST}`;
const NOWHERE = { host: '127.0.0.1', port: 9 };
/** Time limit of contacts that are refused without waiting, longer than a busy machine delays any, in milliseconds. */
const AMPLE_MS = 60_000;

let watchman: Watchman;
let resolver: Resolver;
let guarded: WaysIn;
let unguarded: WaysIn;

test.before(async () => {
  watchman = await startWatchman();
  resolver = takeOverResolver();
  guarded = openWaysIn({ allowPrivateNetwork: false, timeoutMs: AMPLE_MS, root: NOWHERE, refer: () => undefined });
  unguarded = openWaysIn({ allowPrivateNetwork: true, timeoutMs: 300, root: NOWHERE, refer: () => undefined });
});

test.after.always(async () => {
  await guarded.close();
  await unguarded.close();
  resolver.restore();
  watchman.close();
});

/** Components that follow redirects, and the path that each requests first from the public host. */
const FOLLOWERS = { http: '/', vendor: '/api/v2/summary.json', rdap: '/domain/shop.example' } as const;
const STATUSES = [301, 302, 303, 307, 308] as const;

for (const [follower, path] of Object.entries(FOLLOWERS) as [keyof typeof FOLLOWERS, string][]) {
  const locations = (port: number) => [
    ...[...LOOPBACK, ...ELSEWHERE, ...Object.keys(NAMES)].map((host) => `http://${host}:${port}/`),
    // A URL with a scheme but no slashes is a path of the public host.
    ...DISGUISED_URLS.map((make) => make(port).replaceAll(/\s/g, '')).filter((url) => !url.startsWith('http:1')),
    `//127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}/`,
  ];

  test.serial(`${follower} follows no redirect from a public host to a private address`, async (t) => {
    const before = watchman.connections();
    const { redirects, asked } = await openPublicHost(t);
    for (const [index, location] of locations(watchman.port).entries()) {
      redirects.set(path, { status: STATUSES[index % STATUSES.length] ?? 302, location });
      t.regex(
        await guarded.toUrls[follower](`${PUBLIC}/`),
        /blocked|no public address|nxdomain|does not resolve|too_many|HTTP 30/i,
        location,
      );
      t.deepEqual(asked.splice(0), [path], location);
    }
    await turn();
    t.is(watchman.connections(), before);
  });

  test.serial(`without the guard ${follower} follows a redirect to a private address`, async (t) => {
    const { redirects } = await openPublicHost(t);
    for (const host of ['127.0.0.1', '127.1', 'loopback.example']) {
      const before = watchman.connections();
      redirects.set(path, { status: 302, location: `http://${host}:${watchman.port}/` });
      // A machine that was delayed past a deadline tries again.
      const isContacted = async () => {
        await unguarded.toUrls[follower](`${PUBLIC}/`);
        return watchman.connections() > before;
      };
      t.true(await until(isContacted), host);
    }
  });
}

test.serial(
  'a redirect over two hops to a public name that now resolves to a private address is not followed',
  async (t) => {
    const before = watchman.connections();
    resolver.answers.set('public.example', [['127.0.0.1']]);
    const { redirects } = await openPublicHost(t);
    redirects.set('/', { status: 302, location: '/next' });
    redirects.set('/next', { status: 307, location: `${PUBLIC}:${watchman.port}/` });
    t.is(await guarded.toUrls.http(`${PUBLIC}/`), 'blocked_target');
    t.is(watchman.connections(), before);
  },
);
