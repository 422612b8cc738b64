import test from 'ava';
import { apiClient, listOf, pingTokenOf } from '../helpers/api-client.ts';
import type { Harness } from '../helpers/harness.ts';
import { openLiveStream } from '../helpers/live-stream.ts';
import { outputMatching, startProgram, type Program } from '../helpers/program.ts';
import { newPreparedDataDir, startService, type Service } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

/** Password of the console user in the second cell. */
const PASSWORD = 'a password of twenty letters';

/** Starts two complete installations, of which a has no name yet, and the router's program in front of them. */
async function startCells(t: Harness): Promise<{ a: Service; b: Service; router: Program; url: string }> {
  const start = async (env: Record<string, string>) =>
    await startService(t, { DATA_DIR: await newPreparedDataDir(t), TRUSTED_PROXIES: 'loopback', ...env });
  const [a, b] = [await start({}), await start({ CELL: 'b', BOOTSTRAP_PASSWORD: PASSWORD })];
  const router = startProgram(t, ['cli/spotcheck.ts', 'router'], { PORT: '0', CELLS: `a=${a.url},b=${b.url}` });
  const [, port = ''] = await outputMatching(router, /"port":(\d+),.*process\.started/);
  return { a, b, router, url: `http://127.0.0.1:${port}` };
}

/** Signs in a browser that followed the link of a cell, and returns a function that posts as its page does. */
async function signIn(url: string, cell: string) {
  const chosen = await fetch(`${url}/cells/${cell}`, { redirect: 'manual' });
  const cookies = chosen.headers.getSetCookie();
  const post = async (path: string, body: object, csrf = '') => {
    const cookie = cookies.map((each) => each.split(';')[0]).join('; ');
    const headers = { Cookie: cookie, 'X-CSRF-Token': csrf, 'Content-Type': 'application/json', Origin: url };
    const response = await fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    cookies.push(...response.headers.getSetCookie());
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const session = await post('/session', { email: 'admin@localhost', password: PASSWORD });
  return (path: string, body: object) => post(path, body, String(session['csrf_token']));
}

test('two cells behind a router act as one service for tokens, pings and streams', async (t) => {
  const { a, b, url } = await startCells(t);
  t.regex(a.token, /^spk_[\w-]{43}$/, 'tokens of an installation without a name name no cell');
  t.regex(b.token, /^spk_b_[\w-]{43}$/);
  const [inA, inB] = [apiClient(url, a.token), apiClient(url, b.token)];

  const monitor = { type: 'heartbeat', interval_seconds: 60, check_spec: { heartbeat: {} } };
  const ofA = await inA('POST', '/monitors', { ...monitor, name: 'of a' });
  const ofB = await inB('POST', '/monitors', { ...monitor, name: 'of b' });
  t.deepEqual([ofA.status, ofB.status], [201, 201]);
  t.deepEqual(
    listOf(await inB('GET', '/monitors')).map(({ name }) => name),
    ['of b'],
  );
  t.is((await inA('GET', `/monitors/${ofB.json.id}`)).status, 404);

  const stream = await openLiveStream(t, url, { Authorization: `Bearer ${b.token}` });
  const tokenA = pingTokenOf(await inA('GET', `/monitors/${ofA.json.id}`));
  const tokenB = pingTokenOf(await inB('GET', `/monitors/${ofB.json.id}`));
  t.regex(tokenA, /^mon_\w+\.[\w-]{24}$/);
  t.regex(tokenB, /^b\.mon_\w+\.[\w-]{24}$/);
  t.is((await fetch(`${url}/ping/${tokenA}`, { method: 'POST', body: 'done' })).status, 200);
  const pinged = await fetch(`${url}/ping/${tokenB}`, { headers: { 'X-Forwarded-For': '6.6.6.6' } });
  t.deepEqual([pinged.status, await pinged.text()], [200, 'OK']);
  await stream.next('monitor', { id: ofB.json.id, status: 'up' });
  await until(async () => (await inA('GET', `/monitors/${ofA.json.id}`)).json.status === 'up');

  const person = await signIn(url, 'b');
  const agent = await person('/agents', { name: 'home' });
  t.regex(String(agent['token']), /^spa_b_[\w-]{43}$/);
  const pull = await fetch(`${url}/agent/v1/pull`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${String(agent['token'])}`, 'Content-Type': 'application/json' },
    body: '{}',
  });
  t.not(pull.status, 401);
  const wallboard = await person('/tokens', { name: 'wall', scopes: ['wall'] });
  t.regex(String(wallboard['token']), /^spw_b_[\w-]{43}$/);
  await t.throwsAsync(signIn(url, 'a'), { message: /401/ }, "the first cell does not know the second one's users");

  for (const token of [b.token.replace('_b_', '_z_'), b.token.replace('_b_', '_a_'), `${b.token.slice(0, -1)}!`])
    t.is((await apiClient(url, token)('GET', '/monitors')).status, 401);
  const lines = b.program.output();
  t.regex(lines, /"route":"\/ping\/\{token\}","address":"127\.0\.0\.1"/, 'the address is the one that the router saw');
  t.notRegex(lines, /6\.6\.6\.6/);

  const tooLong = await inB('POST', '/monitors', { ...monitor, name: 'x'.repeat(300_000) });
  t.is(tooLong.status, 413, 'the response of the cell itself');
  await b.program.stop('SIGKILL');
  await until(() => stream.isEnded());
  const away = await inB('GET', '/monitors');
  t.is(away.status, 503);
  t.regex(away.json.error ?? '', /does not answer/);
  t.is((await inA('GET', '/monitors')).status, 200);
});
