import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import createClient from 'openapi-fetch';
import type { paths } from '../../api/schema.generated.ts';
import { isInstalled, runCommand } from '../helpers/command.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';

/** A running service and a token with write access. */
type Access = { url: string; token: string };

/** Commands that generate a client from `openapi.json`, and compile and run the story beside this file. */
type Generator = {
  programs: readonly string[];
  story: readonly [from: string, to: string];
  generate: readonly string[];
  build: readonly (readonly string[])[];
  run: readonly string[];
};

const GENERATORS: Readonly<Record<string, Generator>> = {
  Python: {
    programs: ['python3', 'openapi-python-client'],
    story: ['story.py', 'story.py'],
    generate: [
      'openapi-python-client',
      'generate',
      '--meta',
      'none',
      '--config',
      'config.json',
      '--output-path',
      'client',
      '--fail-on-warning',
      '--path',
      'openapi.json',
    ],
    build: [['python3', '-m', 'compileall', '-q', 'client']],
    run: ['python3', 'story.py'],
  },
  Go: {
    programs: ['go', 'oapi-codegen'],
    story: ['story.go', 'main.go'],
    generate: ['oapi-codegen', '-generate', 'types,client', '-package', 'main', '-o', 'client.go', 'openapi.json'],
    build: [
      ['go', 'mod', 'init', 'example.com/story'],
      ['go', 'mod', 'tidy'],
      ['go', 'build', '-o', 'story', '.'],
    ],
    run: ['./story'],
  },
};

const all = Object.entries(GENERATORS);
const installed = all.filter(([, { programs }]) => programs.every(isInstalled));
const missing = all.filter((entry) => !installed.includes(entry)).map(([language]) => language);
const leftOut =
  missing.length > 0 ? `; no generator is installed here for ${missing.join(' and ')}, so those are left out` : '';
const named = `${installed.map(([language]) => language).join(', ')}${leftOut}`;

test('openapi-fetch with our API types manages a monitor and a channel', async (t) => {
  await manageByFetch(t, await startAccess(t));
});

test(`generated clients build without warnings, and manage a monitor and a channel: ${named}`, async (t) => {
  const access = await startAccess(t);
  for (const [, generator] of installed) await manageByGenerated(t, generator, access);
  t.pass();
});

async function startAccess(t: ExecutionContext): Promise<Access> {
  return await startService(t, { DATA_DIR: await newPreparedDataDir(t) });
}

async function manageByGenerated(
  t: ExecutionContext,
  { story: [from, to], generate, build, run }: Generator,
  { url, token }: Access,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-client-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  await copyFile(join(import.meta.dirname, from), join(folder, to));
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${url}/openapi.json`)).text());
  await writeFile(join(folder, 'config.json'), JSON.stringify({ post_hooks: [] }));
  const generated = await runCommand(generate, {}, folder);
  t.is(generated.status, 0, `${generated.stdout}${generated.stderr}`);
  t.notRegex(`${generated.stdout}${generated.stderr}`, /warning|error/i);
  for (const command of [...build, [...run, url, token]]) {
    const { status, stdout, stderr } = await runCommand(command, { CGO_ENABLED: '0' }, folder);
    t.is(status, 0, `${command.join(' ')}\n${stdout}${stderr}`);
  }
}

async function manageByFetch(t: ExecutionContext, { url, token }: Access): Promise<void> {
  const api = createClient<paths>({ baseUrl: `${url}/v1`, headers: { Authorization: `Bearer ${token}` } });
  const assertions = [{ source: 'text_body', op: 'contains', value: 'ok' }] as const;
  const created = await api.POST('/monitors', {
    body: {
      name: 'Shop',
      target: 'http://127.0.0.1:9/',
      follow_redirects: false,
      check_spec: { assertions: [...assertions] },
    },
  });
  const params = { path: { id: created.data?.id ?? '' } };
  t.like((await api.GET('/monitors/{id}', { params })).data, {
    name: 'Shop',
    follow_redirects: 0,
    check_spec: { assertions: [...assertions] },
  });
  t.is(
    (await api.PATCH('/monitors/{id}', { params, body: { name: 'Shop 2', follow_redirects: 1 } })).response.status,
    200,
  );
  t.like((await api.GET('/monitors/{id}', { params })).data, { name: 'Shop 2', follow_redirects: 1 });

  const channel = await api.POST('/channels', { body: { type: 'telegram', name: 'Family' } });
  const channelParams = { path: { id: channel.data?.id ?? '' } };
  t.deepEqual((await api.PATCH('/channels/{id}', { params: channelParams, body: { name: 'Friends' } })).data, {
    ok: true,
  });
  t.is((await api.GET('/channels/{id}', { params: channelParams })).data?.name, 'Friends');
  t.deepEqual((await api.DELETE('/channels/{id}', { params: channelParams })).data, { ok: true });
  t.is((await api.DELETE('/monitors/{id}', { params })).response.status, 204);
  t.deepEqual((await api.GET('/monitors')).data, { monitors: [] });
  t.regex((await api.GET('/monitors/{id}', { params })).error?.error ?? '', /monitor/);
}
