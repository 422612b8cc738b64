import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Broadcast, Gathering, openStream } from '../../../api/live/broadcast.ts';
import { LiveStreams } from '../../../api/live/live.ts';
import { sessionCaller, tokenCaller, type Caller } from '../../../api/request-context.ts';
import { HOUR_MS } from '../../../core/time.ts';
import {
  createApiToken,
  findTokenHolders,
  generateToken,
  revokeApiToken,
} from '../../../models/accounts/api-tokens.ts';
import { endOtherSessions, findSessionHolder } from '../../../models/accounts/sessions.ts';
import type { Database } from '../../../models/database.ts';
import { runOn } from '../../../models/sql.ts';
import { openLiveStream } from '../../helpers/live-stream.ts';
import { until } from '../../helpers/until.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';
import { addPerson, type Person } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

type Served = { callers: ReadonlyMap<string, Caller>; beatMs: number; now: () => number };

/** Serves streams to callers that a header names; returns the URL. */
async function serveStreams(
  t: ExecutionContext<{ api: ApiServer }>,
  { callers, beatMs, now }: Served,
): Promise<string> {
  const live = new LiveStreams(
    {
      database: t.context.api.database,
      now,
      logger: pino({ level: 'silent' }),
      metrics: new Registry(),
      stopping: new AbortController().signal,
    },
    { beatMs },
  );
  const server = createServer((request, response) => {
    const caller = callers.get(String(request.headers['x-name']));
    if (caller !== undefined) live.open(response, { caller, isBack: false });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function callerOf(database: Database, { headers }: Person): Promise<Caller> {
  const secret = String(headers['Cookie']).split('=')[1] ?? '';
  const holder = await findSessionHolder(database, secret, Date.now());
  if (holder === null) throw new Error('The session has ended');
  return sessionCaller(holder, secret);
}

test('streams of an ended session or token end at the next keep-alive, and other streams go on', async (t) => {
  const { api } = t.context;
  const { database } = api;
  const { tenantId } = await api.account();
  const [gone, there] = [await addPerson(api, tenantId), await addPerson(api, tenantId)];
  const issue = async (expiresAt: number | null) => {
    const [id, token] = [api.makeId('tok'), generateToken('spk')];
    await createApiToken(
      database,
      { id, tenantId, name: 'x', token, scopes: ['read'], expiresAt, nowMs: Date.now(), author: null },
      10,
    );
    return { id, token };
  };
  const [revoked, kept, expiring] = [
    await issue(null),
    await issue(null),
    await issue(Math.floor((Date.now() + HOUR_MS) / 1000)),
  ];
  const byName = new Map<string, Caller>();
  for (const [name, person] of Object.entries({ gone, there })) byName.set(name, await callerOf(database, person));
  for (const [name, { token }] of Object.entries({ revoked, kept, expiring })) {
    const [holder] = await findTokenHolders(database, [token], Date.now());
    if (holder) byName.set(name, tokenCaller(holder));
  }
  t.is(byName.size, 5);

  let aheadMs = 0;
  const url = await serveStreams(t, { callers: byName, beatMs: 50, now: () => Date.now() + aheadMs });
  const streams = new Map(
    await Promise.all(
      [...byName.keys()].map(async (name) => [name, await openLiveStream(t, url, { 'X-Name': name })] as const),
    ),
  );
  const ended = () =>
    [...streams]
      .filter(([, stream]) => stream.isEnded())
      .map(([name]) => name)
      .toSorted();

  await endOtherSessions(runOn(database.pool), { userId: gone.user.id, keepSessionId: null });
  await revokeApiToken(database, { id: revoked.id, nowMs: Date.now(), author: null });
  aheadMs = HOUR_MS;
  await until(() => ended().length === 3);
  t.like(streams.get('gone')?.events.at(-1), { event: 'ended', data: { reason: 'ended' } });
  const keepAlives = () => streams.get('there')?.countKeepAlives() ?? 0;
  const before = keepAlives();
  await until(() => keepAlives() >= before + 3);
  t.deepEqual(ended(), ['expiring', 'gone', 'revoked']);
});

test('a session that ended before its stream learns of changes ends the stream at once', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const [gone, there] = [await addPerson(api, tenantId), await addPerson(api, tenantId)];
  const callers = new Map([
    ['gone', await callerOf(api.database, gone)],
    ['there', await callerOf(api.database, there)],
  ]);
  await endOtherSessions(runOn(api.database.pool), { userId: gone.user.id, keepSessionId: null });
  const url = await serveStreams(t, { callers, beatMs: HOUR_MS, now: Date.now });
  const last = async (name: string) => {
    const stream = await openLiveStream(t, url, { 'X-Name': name });
    await until(() => stream.isEnded());
    return stream.events.at(-1);
  };
  t.like(await last('gone'), { event: 'ended', data: { reason: 'ended' } });
  await openLiveStream(t, url, { 'X-Name': 'there' });
  t.like(await last('gone'), { event: 'ended' }, 'the connection listens already');
});

test('a client that does not read is cut off, and its buffer stays bounded', async (t) => {
  let cut = 0;
  let mostWaiting = 0;
  const server = createServer((_request, response) => {
    const stream = openStream(response, { onCut: () => (cut += 1) });
    const flood = setInterval(() => {
      stream.send('x'.repeat(100_000));
      mostWaiting = Math.max(mostWaiting, response.writableLength);
    }, 1);
    response.once('close', () => clearInterval(flood));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.teardown(() => socket.destroy());
  await until(() => cut > 0);
  t.is(cut, 1);
  t.true(mostWaiting < 700_000, String(mostWaiting));
});

test('a client that reads promptly gets batches of any length, and the events right after them', async (t) => {
  let cut = 0;
  const batch = 'x'.repeat(2_000_000);
  const server = createServer(async (_, response) => {
    const stream = openStream(response, { onCut: () => (cut += 1) });
    stream.send('x'.repeat(480 * 1024));
    stream.keepAlive(0);
    await until(() => response.writableLength === 0);
    stream.send(batch);
    stream.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const text = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  t.is(cut, 0);
  t.true(text.includes('event: keep-alive') && text.endsWith(batch));
});

test('changes too large for one batch become one reset, but bulk progress is still sent', async (t) => {
  const sent: string[] = [];
  const broadcast = new Broadcast({
    read: async (changed) =>
      [...changed].map(([kind, ids]) => (kind === 'monitor' ? 'é'.repeat(300_000 * ids.size) : kind)).join(),
    now: Date.now,
    onFailure: (error) => t.fail(String(error)),
  });
  t.teardown(() => broadcast.close());
  broadcast.streams.add({
    keepAlive: () => undefined,
    send: (events) => void sent.push(events),
    reset: () => void sent.push('reset'),
    end: () => undefined,
  });
  broadcast.add('monitor', 'a');
  broadcast.add('bulk', 'b');
  await until(() => sent.length >= 2);
  t.deepEqual(sent, ['reset', 'bulk']);
});

test('repeated changes are collected once, and too many become a gap that replaces the rest', (t) => {
  const gathering = new Gathering();
  t.true(gathering.isEmpty());
  for (const id of ['a', 'b', 'a']) gathering.add('monitor', id);
  gathering.add('incident', 'a');
  t.deepEqual(
    gathering.take(),
    new Map([
      ['monitor', new Set(['a', 'b'])],
      ['incident', new Set(['a'])],
    ]),
  );
  t.true(gathering.isEmpty());
  for (let n = 0; n < 10_000; n += 1) gathering.add('monitor', String(n));
  t.is(gathering.take(), 'gap');
  t.true(gathering.isEmpty());
});
