import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import {
  LANGUAGES,
  listOperations,
  sampleOf,
  type Description,
  type Language,
  type Operation,
} from '../../console/pages/docs/description.ts';
import { findBarriers, openPage } from '../helpers/browser.ts';
import { GO_ENV, isInstalled, runCommand } from '../helpers/command.ts';
import { withConsole, type ConsoleService } from '../helpers/console-service.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

test.serial(
  'the API documentation has a page for every operation, without a sign-in, and can be searched',
  async (t) => {
    const { browser, service } = t.context;
    const { page, complaints } = await openPage(t, browser, { url: service.url });
    await page.goto('/docs?operation=createMonitor');
    await page.getByRole('heading', { level: 2, name: 'Create a monitor' }).waitFor();
    const sample = page.getByLabel(/code for createMonitor$/);
    t.regex((await sample.textContent()) ?? '', /^curl -X POST ".*\/v1\/monitors" .*"name": "Shop"/s);
    for (const [button, start] of [
      ['JavaScript', /^const response = await fetch\(/],
      ['Python', /^import json\n/],
      ['Go', /^package main\n/],
    ] as const) {
      await page.getByRole('button', { name: button, exact: true }).click();
      t.regex((await sample.textContent()) ?? '', start);
    }
    await page.getByRole('button', { name: 'Fields of check_spec' }).first().click();
    await page.getByRole('button', { name: /^Errors: 400/ }).click();
    t.deepEqual(await findBarriers(page), []);

    const operations = (await readOperations(service.url)).map(({ operationId }) => operationId);
    t.true(operations.length > 70);
    const links = page.getByRole('navigation', { name: 'Operations' }).getByRole('link');
    t.is(await links.count(), operations.length);
    for (const id of operations) {
      await page.locator(`nav a[href$="operation=${id}"]`).click();
      const shown = page.locator(`#operation-${id}`);
      await shown.getByRole('heading', { level: 2 }).and(page.locator(':focus')).waitFor();
      t.is(await shown.getByRole('heading', { name: /^(Responses|Your response)$/ }).count(), 1, id);
      t.is(await page.getByText('[object Object]').count(), 0, id);
      t.is(await page.getByText('undefined', { exact: true }).count(), 0, id);
    }
    await page.getByLabel('Search operations').fill('pause monitor');
    await page.locator('nav a[href$="operation=listIncidents"]').waitFor({ state: 'detached' });
    t.is(await page.locator('nav a[href$="operation=pauseMonitor"]').count(), 1);
    for (const [text, found, other] of [
      ['/v1/monitors/{id}', 'getMonitor', 'listIncidents'],
      ['DELETE /v1/monitors', 'deleteMonitor', 'getMonitor'],
    ] as const) {
      await page.getByLabel('Search operations').fill(text);
      await page.locator(`nav a[href$="operation=${found}"]`).waitFor();
      await page.locator(`nav a[href$="operation=${other}"]`).waitFor({ state: 'detached' });
    }
    t.deepEqual(complaints, []);
  },
);

test.serial('operations are tried with an API token, which is kept for the next one but never stored', async (t) => {
  const { browser, service } = t.context;
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto('/docs?operation=createMonitor');
  const send = page.getByRole('button', { name: 'Send request' });
  await page.getByLabel('API token').fill('spk_wrong');
  await send.click();
  await page.getByText('HTTP 401').waitFor();
  await page.getByLabel('API token').fill(service.token);
  await page.getByLabel('Request body').fill('{"name": "From the docs"}');
  await send.click();
  await page.getByText('HTTP 201').waitFor();
  const response = await page.getByLabel('Response', { exact: true }).boundingBox();
  t.true(response !== null && response.y + response.height <= 800, 'the response is scrolled into view');
  const id = /mon_\w+/.exec((await page.getByLabel('Response', { exact: true }).textContent()) ?? '')?.[0] ?? '';
  t.is((await service.call('GET', `/monitors/${id}`)).json['name'], 'From the docs');
  t.deepEqual(await findBarriers(page), []);

  // The token is kept for the next operation, and typed values reach path and query unchanged.
  await page
    .locator('nav a[href$="operation=listMonitorIncidents"], nav a[href$="operation=getMonitor"]')
    .first()
    .click();
  await page.getByLabel('id', { exact: true }).fill('../tokens?x=1#');
  await send.click();
  await page.getByText(/HTTP 40[04]/).waitFor();
  await page.getByLabel('id', { exact: true }).fill(id);
  await send.click();
  await page.getByText('HTTP 200').waitFor();
  const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
  t.false(String(stored).includes(service.token));
  t.deepEqual(complaints, []);
});

test.serial('the response of a stream is read for a while, then cut', async (t) => {
  const { browser, service } = t.context;
  const { page } = await openPage(t, browser, { url: service.url });
  await page.goto('/docs?operation=watchLive');
  await page.getByLabel('API token').fill(service.token);
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByText('response cut').waitFor();
  t.regex((await page.getByLabel('Response', { exact: true }).textContent()) ?? '', /event: ready/);
});

/** How to run a sample: its program, the name of its file, and the command. */
const RUN: Record<Language, { program: string; file: string; command: readonly string[] }> = {
  curl: { program: 'curl', file: 'sample.sh', command: ['sh', 'sample.sh'] },
  javascript: { program: 'node', file: 'sample.mjs', command: ['node', 'sample.mjs'] },
  python: { program: 'python3', file: 'sample.py', command: ['python3', 'sample.py'] },
  go: { program: 'go', file: 'sample.go', command: ['go', 'run', 'sample.go'] },
};

for (const language of Object.keys(LANGUAGES) as Language[]) {
  const { program, file, command } = RUN[language];
  if (!isInstalled(program)) continue;
  test.serial(`the ${LANGUAGES[language]} samples to list, create and pause a monitor run unchanged`, async (t) => {
    const { service } = t.context;
    const folder = await mkdtemp(join(tmpdir(), 'spotcheck-samples-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const operations = await readOperations(service.url);
    const run = async (id: string, env: Record<string, string>, example?: unknown) => {
      const operation = operations.find(({ operationId }) => operationId === id);
      if (operation === undefined) throw new Error(`There is no operation ${id}`);
      const code = sampleOf(language, { ...operation, server: `${service.url}/v1` }, example);
      await writeFile(join(folder, file), code);
      const own = { HOME: process.env['HOME'] ?? folder, SPOTCHECK_TOKEN: service.token, ...GO_ENV };
      const { status, stdout, stderr } = await runCommand(command, { ...own, ...env }, folder);
      t.is(status, 0, `${code}\n${stderr}`);
      return stdout;
    };
    const name = `It's "${language}" \`quoted\`, 100 % \\ $HOME`;
    const made = await run('createMonitor', {}, { name, follow_redirects: true, body_match: null });
    const id = /mon_\w+/.exec(made)?.[0] ?? '';
    t.is((await service.call('GET', `/monitors/${id}`)).json['name'], name);
    t.true((await run('listMonitors', {})).includes(id));
    t.regex(await run('pauseMonitor', { MONITOR_ID: id }), /paused/);
  });
}

async function readOperations(url: string): Promise<Operation[]> {
  const description = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
  return listOperations(description).flatMap(({ operations }) => operations);
}
