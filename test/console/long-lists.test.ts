import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, signIn } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

/** More than a page, all from the same second: a time alone does not determine where the next page begins. */
const ROWS = 810;

test.serial('lists of 810 rows are paged back without duplicates or gaps, and lead back to the newest', async (t) => {
  await addRows(t);
  const { page, complaints } = await openSignedIn(t, '/incidents?status=resolved&count=800');
  await walkBack(t, page, page.getByRole('link', { name: /^\S.* Old \d+/ }));
  await page.goto('/settings/audit-log?kind=agent&count=800');
  await walkBack(t, page, page.getByRole('list', { name: 'Entries' }).getByRole('listitem'));
  t.deepEqual(complaints, []);
});

test.serial('choosing an author on an older page of the audit log starts again at the newest entry', async (t) => {
  const { page } = await openSignedIn(t, '/settings/audit-log?count=800');
  await page.getByRole('button', { name: 'Go further back' }).click();
  await page.waitForURL(/cursor=/);
  await page.getByRole('button', { name: 'Token Author' }).click();
  await page.waitForURL(/actor=/);
  t.deepEqual([...new URL(page.url()).searchParams.keys()], ['actor']);
});

test.serial('going further back works while a list is being reloaded after a change', async (t) => {
  const { page } = await openPage(t, t.context.browser, { url: t.context.service.url });
  // Reported changes make the page request the list again. The stream is delayed until then, and that request gets no
  // response.
  const shown = Promise.withResolvers<void>();
  await page.route('**/v1/live', async (route) => {
    await shown.promise;
    await route.continue();
  });
  await page.goto('/incidents?status=resolved&count=800');
  await signIn(page, t.context.person);
  await page.getByRole('link', { name: /Old/ }).nth(799).waitFor();
  const isFirstPage = ({ pathname, searchParams: query }: URL) =>
    pathname === '/v1/incidents' && query.get('status') === 'resolved' && !query.has('cursor');
  await page.route(isFirstPage, () => {});
  const askedAnew = page.waitForRequest((request) => isFirstPage(new URL(request.url())));
  shown.resolve();
  await askedAnew;
  await page.getByRole('button', { name: 'Go further back' }).dispatchEvent('click');
  await t.notThrowsAsync(page.waitForURL(/cursor=/));
});

/** Goes from the newest to the oldest, and back with the browser and the button. */
async function walkBack(t: ExecutionContext, page: Page, rows: Locator): Promise<void> {
  const textsOf = async () => (await rows.allTextContents()).map((text) => /Old \d+/.exec(text)?.[0]);
  await rows.nth(799).waitFor();
  const newest = await textsOf();
  await page.getByRole('button', { name: 'Go further back' }).click();
  await page.waitForURL(/cursor=/);
  await rows.nth(10).waitFor({ state: 'detached' });
  const older = await textsOf();
  t.deepEqual([newest.length, older.length, new Set([...newest, ...older]).size], [800, 10, ROWS]);
  t.is(await page.getByRole('button', { name: 'Go further back' }).count(), 0);
  t.true(
    await page
      .getByRole('button', { name: 'Back to the newest' })
      .evaluate((button) => button.getBoundingClientRect().top >= 0),
    'the older page starts at its top',
  );
  await page.goBack();
  await rows.nth(799).waitFor();
  await page.goForward();
  await rows.nth(10).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Back to the newest' }).click();
  await rows.nth(49).waitFor();
  t.deepEqual(await textsOf(), newest.slice(0, 50));
}

async function addRows({ context: { databaseUrl } }: ExecutionContext<ConsoleService>): Promise<void> {
  const now = Date.now();
  await withClient(databaseUrl, async (client) => {
    await client.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
       SELECT 'inc_' || lpad(n::text, 26, '0'), t.id, 'mon_gone', 'Old ' || n, 'down', 'HTTP 503', '{}',
         $1::bigint - 7200000, $1::bigint - 7200000, $1::bigint - 3600000, 'recovered'
       FROM tenants t, generate_series(1, ${ROWS}) AS n`,
      [now],
    );
    await client.query(
      `INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_id, actor_name, action, object_kind, object_id,
       object_name, changes)
       SELECT 'aud_' || lpad('0', 26, '0'), t.id, $1::bigint, 'token', 'tok_author', 'Author', 'monitor.created',
         'monitor', 'mon_gone', 'Shop', '{}' FROM tenants t`,
      [Math.floor(now / 1000) - 3600],
    );
    await client.query(
      `INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_name, action, object_kind, object_id, object_name,
       changes)
       SELECT 'aud_' || lpad(n::text, 26, '0'), t.id, $1::bigint, 'operator', 'Operator', 'agent.created', 'agent',
         'agt_' || n, 'Old ' || n, '{}' FROM tenants t, generate_series(1, ${ROWS}) AS n`,
      [Math.floor(now / 1000) - 60],
    );
  });
}
