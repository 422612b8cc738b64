import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { BodyBudget, bodyBudget, FREE_BODY_BYTES, holdingBodies, OutOfBodyMemory } from '../../net/body-budget.ts';
import { createHttpClient, createProbeClient, type HttpExchange, type HttpRequest } from '../../net/http-client.ts';
import { createHttpProbe } from '../../probes/http.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { requestTo, startCannedServer } from '../helpers/exchange.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { until } from '../helpers/until.ts';

const MIB = 1024 * 1024;
const MOST = 128 * MIB;

test('incomplete bodies are given up for later ones, oldest first, but no complete ones and not itself', (t) => {
  const budget = new BodyBudget(100);
  const givenUp: string[] = [];
  const open = (name: string) => budget.open(`account of ${name}`, () => void givenUp.push(name));
  const [complete, old, young] = [open('complete'), open('old'), open('young')];
  t.true(complete.take(30));
  complete.complete();
  t.true(old.take(40));
  t.true(young.take(30));
  t.true(young.take(10));
  t.deepEqual(givenUp, ['old']);
  t.is(budget.heldBytes, 70);
  t.false(young.take(31));
  t.deepEqual(givenUp, ['old']);
  young.release();
  complete.release();
  t.is(budget.heldBytes, 0);
});

test('an account gets a quarter of what others leave for several bodies, and all of it for a single one', (t) => {
  const budget = new BodyBudget(160);
  const givenUp: string[] = [];
  const open = (account: string, name: string) => budget.open(account, () => void givenUp.push(name));
  const take = (account: string, name: string, bytes: number) => {
    const charge = open(account, name);
    const isTaken = charge.take(bytes);
    return { ...charge, isTaken };
  };
  const judged = Array.from({ length: 6 }, (_, no) => {
    const body = take('greedy', `judged ${no}`, 10);
    body.complete();
    return body.isTaken;
  });
  t.deepEqual(judged, [true, true, true, true, false, false]);
  t.deepEqual(givenUp, []);
  t.true(take('honest', 'one', 15).isTaken);
  t.true(take('honest', 'two', 15).isTaken);
  t.deepEqual(givenUp, []);
  t.true(take('honest', 'three', 15).isTaken);
  t.deepEqual(givenUp, ['one']);
  t.true(take('single', 'large', 90).isTaken);
  t.is(budget.heldBytes, 160);
  t.true(take('late', 'small', 10).isTaken);
  t.deepEqual(givenUp, ['one', 'large']);
  t.is(budget.heldBytes, 80);
});

test('patiently waiting bodies displace none, are served in order, and wait per account for its share', (t) => {
  const budget = new BodyBudget(160);
  const events: string[] = [];
  const open = (account: string, name: string) => budget.open(account, () => void events.push(`${name} given up`));
  const wait = (account: string, name: string, bytes: number) => {
    const charge = open(account, name);
    charge.takeInTurn(bytes, () => void events.push(name));
    return charge;
  };
  const greedy = ['one', 'two', 'three', 'four'].map((name) => wait('greedy', name, 30));
  const large = wait('large', 'large', 120);
  const gone = [wait('gone', 'complete', 20), wait('gone', 'released', 20)];
  const small = wait('small', 'small', 40);
  t.deepEqual(events.splice(0), ['one', 'large']);
  gone[0]?.complete();
  gone[1]?.release();
  greedy[0]?.giveBack(30);
  t.deepEqual(events.splice(0), ['two']);
  large.release();
  t.deepEqual(events.splice(0), ['small']);
  small.release();
  greedy[1]?.release();
  t.deepEqual(events.splice(0), ['three']);
  for (const charge of greedy) charge.release();
  t.deepEqual(events, ['four']);
  t.is(budget.heldBytes, 0);
});

test('the waiting account that holds the least is served first', (t) => {
  const budget = new BodyBudget(160);
  const events: string[] = [];
  const [judged, other, more, free] = ['more', 'other', 'more', 'free'].map((account) =>
    budget.open(account, () => undefined),
  );
  for (const [charge, bytes] of [
    [judged, 10],
    [other, 150],
  ] as const) {
    t.true(charge?.take(bytes));
    charge?.complete();
  }
  more?.takeInTurn(5, () => void events.push('more'));
  free?.takeInTurn(96, () => void events.push('free'));
  other?.giveBack(100);
  t.deepEqual(events, ['free']);
  for (const charge of [judged, other, more, free]) charge?.release();
});

/** Opens a budget of 100 bytes, and records in order which bodies were given up and which were served after waiting. */
function openSmall() {
  const budget = new BodyBudget(100);
  const events: string[] = [];
  const open = (account: string, patienceMs?: number) =>
    budget.open(account, () => void events.push(`${account} given up`), patienceMs);
  const hold = (account: string, bytes: number) => {
    const charge = open(account);
    charge.take(bytes);
    return charge;
  };
  const wait = (account: string, bytes: number, patienceMs: number) =>
    open(account, patienceMs).takeInTurn(bytes, () => void events.push(account));
  return { events, hold, wait };
}

test('no body is given up if all that may be given up would not be enough', (t) => {
  const { events, hold, wait } = openSmall();
  const judged = hold('judged', 70);
  judged.complete();
  hold('plain', 20);
  wait('impatient', 40, 0);
  t.deepEqual(events, []);
  judged.release();
  t.deepEqual(events, ['impatient']);
});

test('a patient body in front of the queue does not block a less patient one', async (t) => {
  const { events, hold, wait } = openSmall();
  hold('drip', 90);
  wait('patient', 50, 60_000);
  wait('impatient', 40, 0);
  t.deepEqual(events, ['drip given up', 'impatient']);
  await until(() => events.length === 3);
  t.is(events.at(-1), 'patient', 'there is room for the patient one as well');
});

test('a patient body does not keep an impatient one of the same account from displacing slow bodies', async (t) => {
  const budget = new BodyBudget(160);
  const taken: string[] = [];
  const wait = (name: string, patienceMs: number) =>
    budget.open('account', () => undefined, patienceMs).takeInTurn(10, () => void taken.push(name));
  for (const name of ['first', 'second', 'third', 'fourth']) wait(name, 1000);
  t.is(budget.heldBytes, 40);
  wait('patient', 60_000);
  wait('impatient', 200);
  await until(() => taken.includes('impatient'));
  t.false(taken.includes('patient'));
});

test('no more bodies are given up than the impatient ones need', (t) => {
  const { events, hold, wait } = openSmall();
  hold('young', 40);
  hold('drip', 50);
  wait('patient', 55, 60_000);
  wait('impatient', 15, 0);
  wait('other', 60, 60_000);
  t.deepEqual(events, ['drip given up', 'impatient']);
});

/** Sends the given number of bytes, and ends the body only for `whole`. */
async function startBodies(t: Parameters<typeof startHttpServer>[0]) {
  return await startHttpServer(t, (request, response) => {
    const [, kind, bytes] = (request.url ?? '').split('/');
    response.writeHead(200);
    response.write(Buffer.alloc(Number(bytes), 'x'));
    if (kind === 'whole') response.end();
  });
}

test.serial(
  '200 slow responses hold at most 128 MiB; some get no vote, and an honest one is read at once',
  async (t) => {
    const { port } = await startBodies(t);
    const send = createHttpClient({ allowPrivateNetwork: true });
    const ask = (path: string, deadlineMs: number): Promise<HttpExchange> =>
      send({
        url: new URL(`http://127.0.0.1:${port}/${path}`),
        method: 'GET',
        headers: {},
        deadlineMs,
        bodyLimit: () => MIB,
      } satisfies HttpRequest);
    const drips = Array.from({ length: 200 }, (_, no) =>
      holdingBodies(`ten_${no}`, () => ask(`drip/${MIB - 1}`, 200_000)).then(
        ({ outcome }) => outcome,
        (error: unknown) => error,
      ),
    );
    // By then some of the first are given up, because the budget cannot hold them all.
    t.true((await Promise.race(drips)) instanceof OutOfBodyMemory);
    t.true(bodyBudget.heldBytes <= MOST && bodyBudget.heldBytes > MOST / 2);
    const honest = await ask(`whole/${MIB / 2}`, 60_000);
    t.is(honest.outcome, 'answered');
    const free = await ask(`whole/${FREE_BODY_BYTES}`, 60_000);
    t.is(free.outcome, 'answered');
    t.true(bodyBudget.heldBytes <= MOST);
  },
);

test.serial('a body counts toward the budget until its check has been judged', async (t) => {
  const { port } = await startBodies(t);
  const probe = createHttpProbe({ allowPrivateNetwork: true });
  await until(() => bodyBudget.heldBytes === 0);
  await holdingBodies('ten_1', async () => {
    const observation = await probe(
      httpTarget({ target: `http://127.0.0.1:${port}/whole/${MIB / 2}`, bodyMatch: 'x' }),
    );
    t.is(observation.outcome, 'answered');
    t.true(bodyBudget.heldBytes >= MIB / 2 - FREE_BODY_BYTES);
  });
  t.is(bodyBudget.heldBytes, 0);
  t.is(
    (await probe(httpTarget({ target: `http://127.0.0.1:${port}/whole/${MIB / 2}`, bodyMatch: 'x' }))).outcome,
    'answered',
  );
  t.is(bodyBudget.heldBytes, 0);
});

/** Sends the start of a compressed body, and then nothing until `giveUp`. */
async function startDecoders(t: Parameters<typeof startHttpServer>[0], coding: string, start: Buffer) {
  const responses: ServerResponse[] = [];
  const { port } = await startHttpServer(t, (_request, response) => {
    responses.push(response.writeHead(200, { 'Content-Encoding': coding }));
    response.write(start);
  });
  const url = new URL(`http://127.0.0.1:${port}/`);
  const send = createHttpClient({ allowPrivateNetwork: true });
  return {
    ask: (deadlineMs = 200_000) => send({ url, method: 'GET', headers: {}, deadlineMs, bodyLimit: () => MIB }),
    giveUp: () => responses.forEach((response) => response.destroy()),
  };
}

/** Bytes that the decoded body may grow by, twice: the decoder keeps a copy. */
const GROWTH = 2 * (MIB - FREE_BODY_BYTES);

test.serial("a decoder's memory is counted before its first output byte and until it ends", async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const countOne = async (coding: string, start: Buffer): Promise<number> => {
    const { ask, giveUp } = await startDecoders(t, coding, start);
    const asked = ask();
    const held = await until(() => bodyBudget.heldBytes);
    giveUp();
    t.is((await asked).outcome, 'failed');
    t.is(bodyBudget.heldBytes, 0);
    return held;
  };
  for (const windowLog of [10, 11, 15, 16, 17, 18, 22, 24]) {
    const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: windowLog, [zlib.constants.BROTLI_PARAM_QUALITY]: 4 };
    const body = zlib.brotliCompressSync(Buffer.alloc(MIB), { params });
    t.is(await countOne('br', body.subarray(0, 2)), 3.5 * MIB + 2 ** windowLog + GROWTH);
  }
  t.is(await countOne('zstd', zlib.zstdCompressSync('x').subarray(0, 5)), MIB / 2 + GROWTH);
});

test.serial('an account has only a few memory-intensive decoders at a time', async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const body = zlib.brotliCompressSync(Buffer.alloc(MIB));
  const { ask } = await startDecoders(t, 'br', body.subarray(0, 2));
  const asked = await holdingBodies('greedy', async () =>
    Array.from({ length: 20 }, () => ask(3000).catch((error: unknown) => error)),
  );
  await until(() => bodyBudget.heldBytes > 0);
  t.true(bodyBudget.heldBytes <= MOST / 4);
  const ends = await Promise.all(asked);
  const waited = ends.filter((end) => end instanceof OutOfBodyMemory);
  t.true(waited.length >= 10, `${waited.length} waited too long`);
  t.true(waited.length < 20, 'a body that had its decoder and lost it still times out');
  await until(() => bodyBudget.heldBytes === 0);
});

test.serial('a complete br body is read before slow ones end, which time out or get no vote', async (t) => {
  const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: 24 };
  const body = zlib.brotliCompressSync(Buffer.alloc(MIB), { params });
  const drips = new Map<string | undefined, ServerResponse>();
  const { port } = await startHttpServer(t, ({ url }, response) => {
    response.writeHead(200, { 'Content-Encoding': 'br' });
    if (url === '/whole') return void response.end(body);
    response.write(body.subarray(0, 3));
    drips.set(url, response);
  });
  const send = createProbeClient({ allowPrivateNetwork: true });
  const ask = (account: string, path: string, deadlineMs: number) =>
    holdingBodies(account, () =>
      send(requestTo(port, { href: `http://127.0.0.1:${port}/${path}`, deadlineMs, bodyLimit: () => MIB })),
    ).then(
      (exchange) => (exchange.outcome === 'failed' ? exchange.cause : exchange.outcome),
      (error: unknown) => (error instanceof OutOfBodyMemory ? 'no vote' : error),
    );
  const accounts = Array.from({ length: 5 }, (_, no) => `ten_${no}`);
  for (const honest of ['ten_0', 'ten_honest']) {
    await until(() => bodyBudget.heldBytes === 0);
    const dripping = accounts.map((account) => ask(account, `drip/${account}`, 8000));
    await until(() => drips.size === 5 && bodyBudget.heldBytes > MOST / 2);
    t.is(await Promise.race([ask(honest, 'whole', 8000), ...dripping]), 'answered');
    if (honest === 'ten_0') drips.get('/drip/ten_0')?.end();
    t.is(await dripping[0], honest === 'ten_0' ? 'no vote' : 'timeout');
    t.deepEqual(new Set(await Promise.all(dripping.slice(1))), new Set(['timeout']));
    drips.clear();
  }
});

/** Starts the br bodies of all `accounts` before any of them ends. */
async function readTogether(t: Parameters<typeof startHttpServer>[0], accounts: readonly string[]) {
  const size = 600 * 1024;
  const body = zlib.brotliCompressSync(randomBytes(size), { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } });
  const begun: ServerResponse[] = [];
  const { port } = await startHttpServer(t, (_request, response) => {
    begun.push(response.writeHead(200, { 'Content-Encoding': 'br', 'Content-Length': body.length }));
    response.write(body.subarray(0, 1000));
  });
  const probe = createHttpProbe({ allowPrivateNetwork: true });
  const target = httpTarget({ target: `http://127.0.0.1:${port}/`, bodyMatch: 'x', timeoutMs: 60_000 });
  let most = 0;
  const asked = accounts.map((account) =>
    holdingBodies(account, async () => {
      const observation = await probe(target);
      most = Math.max(most, bodyBudget.heldBytes);
      return observation.outcome === 'answered' && observation.body !== null && !observation.bodyTruncated;
    }).catch((error: unknown) => error),
  );
  await until(() => begun.length === accounts.length && bodyBudget.heldBytes > 0);
  await setTimeout(100);
  most = Math.max(most, bodyBudget.heldBytes);
  for (const response of begun) response.end(body.subarray(1000));
  return { read: await Promise.all(asked), most };
}

test.serial('twelve concurrent br bodies of one account are all read within a quarter of the memory', async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const { read, most } = await readTogether(
    t,
    Array.from({ length: 12 }, () => 'ten_1'),
  );
  t.deepEqual(new Set(read), new Set([true]));
  t.true(most > 0 && most <= MOST / 4);
  t.is(bodyBudget.heldBytes, 0);
});

test.serial('forty concurrent br bodies of forty accounts are all read', async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const { read, most } = await readTogether(
    t,
    Array.from({ length: 40 }, (_, no) => `ten_${no}`),
  );
  t.deepEqual(new Set(read), new Set([true]));
  t.true(most > MOST / 2 && most <= MOST);
  t.is(bodyBudget.heldBytes, 0);
});

test.serial('slow br bodies never hold more than the budget, and none waits forever', async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: 24 };
  const body = zlib.brotliCompressSync(Buffer.alloc(MIB), { params });
  const drips = await startDecoders(t, 'br', body.subarray(0, 2));
  const ends = Array.from({ length: 100 }, (_, no) =>
    holdingBodies(`ten_${no % 25}`, () => drips.ask()).then(
      ({ outcome }) => outcome,
      (error: unknown) => error,
    ),
  );
  let most = 0;
  const sampled = setInterval(() => (most = Math.max(most, bodyBudget.heldBytes)), 5);
  t.teardown(() => clearInterval(sampled));
  // This body arrives completely, and its connection ends, while it waits.
  const { port } = await startHttpServer(t, (_request, response) =>
    response.writeHead(200, { 'Content-Encoding': 'br' }).end(body),
  );
  const url = new URL(`http://127.0.0.1:${port}/`);
  await until(() => bodyBudget.heldBytes > MOST / 2);
  const sendings = [createHttpClient, createProbeClient].map((create) => create({ allowPrivateNetwork: true }));
  const whole = sendings.map((send) =>
    send({ url, method: 'GET', headers: {}, deadlineMs: 20_000, bodyLimit: () => MIB }),
  );
  t.deepEqual(
    (await Promise.all(whole)).map(({ outcome }) => outcome),
    ['answered', 'answered'],
    'slow bodies are given up for them, however patient the first in the queue is',
  );
  let left = ends.length;
  for (const end of ends) void end.then(() => (left -= 1));
  t.is(left, ends.length);
  await until(() => {
    drips.giveUp();
    return left === 0;
  });
  const kinds = (await Promise.all(ends)).map((end) => (end instanceof OutOfBodyMemory ? 'waited' : end));
  t.deepEqual(new Set(kinds), new Set(['failed', 'waited']));
  t.true(most > MOST / 2 && most <= MOST);
  await until(() => bodyBudget.heldBytes === 0);
  await setTimeout(50);
  t.is(bodyBudget.heldBytes, 0, 'no memory is taken for a body that has ended');
});

/** Waits in several turns of the event loop: what was sent arrives meanwhile, even if this process stalls. */
async function waitInTurns(durationMs: number): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await setTimeout(durationMs / 10);
}

/** Holds all memory until a br body waits whose server has already sent everything it will send. */
async function letWait(t: ExecutionContext, create: typeof createHttpClient) {
  await until(() => bodyBudget.heldBytes === 0);
  const charge = bodyBudget.open('ten_other', () => undefined);
  t.true(charge.take(MOST));
  charge.complete();
  const responses: ServerResponse[] = [];
  const { port } = await startHttpServer(t, (_request, response) => {
    responses.push(response.writeHead(200, { 'Content-Encoding': 'br' }));
    response.write(zlib.brotliCompressSync('x').subarray(0, 2));
  });
  const send = create({ allowPrivateNetwork: true });
  return {
    ask: async (deadlineMs: number) => {
      const asked = send(requestTo(port, { deadlineMs })).catch((error: unknown) => error);
      const response = await until(() => responses.pop());
      await waitInTurns(100);
      return { asked, response };
    },
    release: charge.release,
  };
}

for (const create of [createHttpClient, createProbeClient]) {
  test.serial(`a timeout after a short wait for memory still counts (${create.name})`, async (t) => {
    // A quarter of the deadline is a long wait: a busy machine may exceed it once, but not every time.
    const end = await until(async () => {
      const { ask, release } = await letWait(t, create);
      const { asked } = await ask(8000);
      release();
      const ended = (await asked) as HttpExchange | OutOfBodyMemory;
      return !(ended instanceof OutOfBodyMemory) && ended.waitedMs > 0 && ended;
    });
    t.like(end, { outcome: 'failed', cause: 'timeout' });
  });

  test.serial(`a timeout or reset after a long wait for memory is no vote (${create.name})`, async (t) => {
    const { ask, release } = await letWait(t, create);
    const [late, lost] = [await ask(4000), await ask(4000)];
    await setTimeout(1000);
    lost.response.socket?.resetAndDestroy();
    await setTimeout(100);
    release();
    for (const { asked } of [late, lost]) t.true((await asked) instanceof OutOfBodyMemory);
  });
}

test.serial('a waiting body buffers at most 64 KiB, however small its chunks', async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const charge = bodyBudget.open('ten_other', () => undefined);
  t.true(charge.take(MOST));
  const pieces = (count: number): string => '1\r\nx\r\n'.repeat(count);
  const { port } = await startCannedServer(
    t,
    `HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n${pieces(FREE_BODY_BYTES + 1)}`,
    () => undefined,
  );
  const send = createHttpClient({ allowPrivateNetwork: true });
  let end: unknown;
  void send(requestTo(port, { deadlineMs: 600_000 })).catch((error: unknown) => (end = error));
  t.true((await until(() => end)) instanceof OutOfBodyMemory);
  charge.release();
  t.is(bodyBudget.heldBytes, 0);
});

test.serial('time spent waiting for memory counts neither as latency nor as download', async (t) => {
  await until(() => bodyBudget.heldBytes === 0);
  const charge = bodyBudget.open('ten_other', () => undefined);
  t.true(charge.take(MOST));
  const { promise: isSent, resolve: noteSent } = Promise.withResolvers<void>();
  const { port } = await startHttpServer(t, (_request, response) =>
    response.writeHead(200, { 'Content-Encoding': 'br' }).end(zlib.brotliCompressSync('x'), noteSent),
  );
  const probe = createHttpProbe({ allowPrivateNetwork: true });
  const startedMs = performance.now();
  const probed = probe(httpTarget({ target: `http://127.0.0.1:${port}/`, bodyMatch: 'x', timeoutMs: 60_000 }));
  await isSent;
  await waitInTurns(1000);
  charge.release();
  const { outcome, latencyMs, timings } = await probed;
  const tookMs = performance.now() - startedMs;
  t.is(outcome, 'answered');
  t.true(latencyMs < tookMs - 300 && (timings.downloadMs ?? tookMs) <= latencyMs);
});

test.serial(
  'an account with many unjudged bodies leaves room for others, and its excess checks run out of memory',
  async (t) => {
    const { port } = await startBodies(t);
    const probe = createHttpProbe({ allowPrivateNetwork: true });
    const target = httpTarget({
      target: `http://127.0.0.1:${port}/whole/${MIB}`,
      bodyMatch: 'x',
      timeoutMs: 60_000,
    });
    await until(() => bodyBudget.heldBytes === 0);
    const { promise: isJudged, resolve: judge } = Promise.withResolvers<void>();
    let read = 0;
    const watch = (account: string) =>
      holdingBodies(account, async () => {
        const { outcome } = await probe(target).finally(() => (read += 1));
        await isJudged;
        return outcome;
      }).catch((error: unknown) => error);
    const greedy = Array.from({ length: 200 }, () => watch('greedy'));
    await until(() => read === 200);
    t.true(bodyBudget.heldBytes <= MOST / 4);
    const others = ['one', 'two', 'three'].map((account) => watch(account));
    await until(() => read === 203);
    judge();
    t.deepEqual(await Promise.all(others), ['answered', 'answered', 'answered']);
    const ends = await Promise.all(greedy);
    t.true(ends.some((end) => end instanceof OutOfBodyMemory));
    t.true(ends.filter((end) => end === 'answered').length >= 32);
    t.is(bodyBudget.heldBytes, 0);
  },
);
