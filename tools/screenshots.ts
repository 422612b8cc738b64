import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { startInstallation } from '../bench/harness/installation.ts';
import { startProcess } from '../bench/harness/running-service.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { addPerson } from '../test/api/person.ts';
import { openPage, startBrowser } from '../test/helpers/browser.ts';
import { createHarnesses } from '../test/helpers/harness.ts';
import { writeStory, type Written } from './screenshots/write-story.ts';

/** A picture: its page, and the text that shows that it has loaded. */
type Picture = { path: (ids: Written) => string; shows: string; isOpen?: boolean };

const PICTURES: Readonly<Record<string, Picture>> = {
  overview: { path: () => '/', shows: 'svg.row-strip' },
  monitor: { path: ({ monitorId }) => `/monitors/${monitorId}`, shows: '.time-plot canvas' },
  incident: { path: ({ incidentId }) => `/incidents/${incidentId}`, shows: 'article' },
  channel: { path: ({ channelId }) => `/channels/${channelId}`, shows: 'tbody tr' },
  report: { path: ({ reportId }) => `/reports/${reportId}`, shows: 'svg[aria-label^="Uptime by day"]' },
  settings: { path: () => '/settings/account', shows: 'dl' },
  'sign-in': { path: () => '/sign-in', shows: 'form', isOpen: true },
};

const FORMS = (['desktop', 'phone'] as const).flatMap((size) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ size, colorScheme })),
);

/** The quality of WebP files: text stays sharp, and files small. */
const QUALITY = 80;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: fileURLToPath(new URL('../docs/screenshots/', import.meta.url)) },
    format: { type: 'string', default: 'webp' },
    only: { type: 'string' },
  },
});
const wanted = Object.entries(PICTURES).filter(([picture]) => values.only === undefined || values.only === picture);
if (wanted.length === 0) throw new Error(`--only takes one of ${Object.keys(PICTURES).join(', ')}`);
const { withHarness, closeAll } = createHarnesses();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void closeAll().finally(() => process.exit(1)));

await mkdir(values.out, { recursive: true });
await withHarness(async (harness) => {
  const installation = await startInstallation(harness, 'postgres');
  const newId = createIdSource();
  // Only the web process runs: nothing is checked, because the monitors' targets do not exist.
  const { url } = await startProcess(harness, 'web', { ...installation.env, TELEGRAM_BOT_NAME: 'spotcheck_bot' });
  const ids = await writeStory({ installation, url, newId });
  const person = await addPerson({ database: installation.database, makeId: newId, url }, installation.tenantId, {
    mark: 'Ada Park',
  });
  await runOn(installation.database.pool)(
    `UPDATE users SET email = 'ada@northwind.example', password_changed_at = created_at - 3000000 WHERE id = $1`,
    [person.user.id],
  );
  const [name = '', value = ''] = (person.headers['Cookie'] ?? '').split('=');
  const browser = await startBrowser(harness);
  for (const form of FORMS) {
    for (const [picture, { path, shows, isOpen = false }] of wanted) {
      const { page, complaints } = await openPage(harness, browser, { url, ...form });
      if (!isOpen) await page.context().addCookies([{ name, value, url }]);
      await page.goto(path(ids));
      await page.locator(shows).first().waitFor();
      await page.waitForLoadState('load');
      if (!isOpen) await page.locator('nav').getByText('Live', { exact: true }).first().waitFor({ state: 'attached' });
      await settle(page);
      if (complaints.length > 0) throw new Error(`${picture}: ${complaints.join('; ')}`);
      const bytes = await take(page);
      await writeFile(`${values.out}/${picture}-${form.size}-${form.colorScheme}.${values.format}`, bytes);
      process.stdout.write(`${picture}-${form.size}-${form.colorScheme} ${(bytes.length / 1000).toFixed(0)} kB\n`);
      await page.context().close();
    }
  }
});
process.exit(0);

/** Waits until no request is in progress and two frames are painted. */
async function settle(page: Page): Promise<void> {
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
  await page.evaluate(
    'document.fonts.ready.then(() => new Promise((resolve) => requestAnimationFrame(() => ' +
      'requestAnimationFrame(resolve))))',
  );
}

async function take(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send(
    'Page.captureScreenshot',
    values.format === 'webp' ? { format: 'webp', quality: QUALITY } : { format: 'png' },
  );
  return Buffer.from(data, 'base64');
}
