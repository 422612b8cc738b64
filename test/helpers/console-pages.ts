import type { ExecutionContext, TestFn } from 'ava';
import type { Browser } from 'playwright-core';
import { consolePages, readConsole } from '../../api/system/console-pages.ts';
import { DIST } from '../../console/build/build.ts';
import { renderTemplate } from '../../notifications/webhook/template/engine.ts';
import type { RenderTask } from '../../notifications/webhook/template/thread.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import type { Person } from '../api/person.ts';
import { openPage, startBrowser, type OpenPage, type PageOptions } from './browser.ts';
import { createHarness } from './harness.ts';
import { CONSOLE_BASE_PATH } from './nginx.ts';

/** The API with the console, on a database that the tests fill. */
export type ConsolePages = { api: ApiServer };

/** Opens an empty page, signed in if a user is given. */
export type OpenAs = (
  t: ExecutionContext<ConsolePages>,
  person: Person | null,
  options?: Omit<PageOptions, 'url'>,
) => Promise<OpenPage>;

const built = await readConsole(DIST, CONSOLE_BASE_PATH);

/** Renders at once. The thread of the service may start too late on a busy machine: a preview waits 3 s for it. */
const templates = {
  render: async ({ template, variables }: RenderTask) => renderTemplate(template, variables),
};

/**
 * Starts one API and one browser before the tests of a file and stops both after them; returns a function that opens
 * pages.
 */
export function withConsolePages(test: TestFn<ConsolePages>): OpenAs {
  withApiServer(test, { templates }, (routes) => void routes.use(consolePages(built, CONSOLE_BASE_PATH)));
  const { harness, close } = createHarness();
  let browser: Browser | null = null;
  test.before(async () => {
    browser = await startBrowser(harness);
  });
  test.after.always(close);
  return async (t, person, options = {}) => {
    if (browser === null) throw new Error('The browser did not start');
    const url = `${t.context.api.url}${CONSOLE_BASE_PATH}`;
    const opened = await openPage(t, browser, { ...options, url });
    const [name = '', value = ''] = (person?.headers['Cookie'] ?? '').split('=');
    if (person !== null) await opened.page.context().addCookies([{ name, value, url: new URL(url).origin }]);
    return opened;
  };
}
