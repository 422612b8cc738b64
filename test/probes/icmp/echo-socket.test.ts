import test, { type ExecutionContext } from 'ava';
import type { EchoOutcome, EchoRound } from '../../../probes/icmp/echo-packet.ts';
import { EchoSocket, measureOverSocket } from '../../../probes/icmp/echo-socket.ts';
import { echoReplyTo } from '../../helpers/echo-reply.ts';
import { startEchoTarget, type EchoAnswer } from '../../helpers/echo-target.ts';
import { until } from '../../helpers/until.ts';

/** Deadlines in milliseconds: one that no round reaches, and one for silence. */
const AMPLE_MS = 3_600_000;
const SHORT_MS = 5000;

async function startTarget(t: ExecutionContext, answer: (request: Buffer, index: number) => readonly EchoAnswer[]) {
  let [answered, arrived] = [0, 0];
  const { address, socket, requests } = await startEchoTarget(t, (request, index) => {
    const answers = answer(request, index);
    answered += answers.length;
    return answers;
  });
  const echoSocket = new EchoSocket(socket, 4);
  socket.on('message', () => (arrived += 1));
  let closing: Promise<void> | null = null;
  const close = () => (closing ??= echoSocket.close());
  t.teardown(close);
  const measure = (round: Pick<EchoRound, 'count' | 'deadlineMs'> & Partial<EchoRound>) =>
    measureOverSocket(echoSocket, { address, ...round });
  /** Measures rounds at once, and ends them when all of their requests and the answers to them have arrived. */
  const measureToEnd = async (count: number, rounds = 1): Promise<string[]> => {
    const before = requests.length;
    const controller = new AbortController();
    const outcomes = Array.from({ length: rounds }, () =>
      measure({ count, deadlineMs: AMPLE_MS, signal: controller.signal }),
    );
    await until(() => requests.length === before + count * rounds && arrived === answered);
    controller.abort();
    return (await Promise.all(outcomes)).map(repliesIn);
  };
  return { measure, measureToEnd, requests, close };
}

function repliesIn(outcome: EchoOutcome): string {
  return outcome.outcome === 'measured' ? `${outcome.roundTripsMs.length} of ${outcome.sent}` : outcome.outcome;
}

const answerAll = (request: Buffer): EchoAnswer[] => [{ message: echoReplyTo(request) }];

test('a round ends before its deadline once all replies arrive, each with its own round trip', async (t) => {
  const { measure, requests } = await startTarget(t, answerAll);
  const outcome = await measure({ count: 3, deadlineMs: AMPLE_MS });
  t.is(repliesIn(outcome), '3 of 3');
  t.true(
    outcome.outcome === 'measured' && outcome.roundTripsMs.every((ms) => ms > 0 && ms < AMPLE_MS),
    JSON.stringify(outcome),
  );
  t.is(new Set(requests.map((request) => request.toString('hex', 8, 24))).size, 3, 'each request has its own token');
  const sequences = requests.map((request) => request.readUInt16BE(6));
  t.deepEqual(
    sequences,
    [0, 1, 2].map((step) => (sequences[0] ?? 0) + step),
  );
});

test('requests are sent 200 ms apart', async (t) => {
  const arrivals: number[] = [];
  const { measure } = await startTarget(t, (request) => {
    arrivals.push(performance.now());
    return answerAll(request);
  });
  const startedAtMs = performance.now();
  t.is(repliesIn(await measure({ count: 4, deadlineMs: AMPLE_MS })), '4 of 4');
  const delaysMs = arrivals.map((at) => at - startedAtMs);
  t.true(
    delaysMs.every((delayMs, index) => delayMs >= index * 200 - 5),
    `a gap of 200 ms each: ${delaysMs.join(', ')}`,
  );
});

test('lost replies are not counted, and the round lasts until its deadline', async (t) => {
  const { measure } = await startTarget(t, (request, index) => (index % 2 === 0 ? answerAll(request) : []));
  const startedAtMs = performance.now();
  t.is(repliesIn(await measure({ count: 2, deadlineMs: SHORT_MS })), '1 of 2');
  t.true(performance.now() - startedAtMs >= SHORT_MS - 1);
});

test('an abort ends a round', async (t) => {
  const controller = new AbortController();
  const { measure } = await startTarget(t, () => {
    controller.abort();
    return [];
  });
  t.is(repliesIn(await measure({ count: 1, deadlineMs: AMPLE_MS, signal: controller.signal })), '0 of 1');
});

const NO_REPLIES: Record<string, (request: Buffer) => EchoAnswer[]> = {
  nothing: () => [],
  'a reply from another address': (request) => [{ message: echoReplyTo(request), isStranger: true }],
  'the request itself, sent back': (request) => [{ message: request }],
  'a reply with a changed last byte': (request) => {
    const reply = echoReplyTo(request);
    reply.writeUInt8(1, reply.length - 1);
    return [{ message: reply }];
  },
  'a valid reply to another token': (request) => {
    request.fill(7, 8, 24);
    return [{ message: echoReplyTo(request) }];
  },
  'a valid reply with another sequence number': (request) => {
    request.writeUInt16BE(request.readUInt16BE(6) ^ 1, 6);
    return [{ message: echoReplyTo(request) }];
  },
};
for (const [what, answer] of Object.entries(NO_REPLIES)) {
  test(`no reply: ${what}`, async (t) => {
    const { measureToEnd } = await startTarget(t, answer);
    t.deepEqual(await measureToEnd(2), ['0 of 2']);
  });
}

test('a duplicate counts once, and not for another request', async (t) => {
  const { measureToEnd } = await startTarget(t, (request, index) =>
    index === 0 ? [...answerAll(request), ...answerAll(request)] : [],
  );
  t.deepEqual(await measureToEnd(2), ['1 of 2']);
});

test('a reply that arrives after its round counts neither there nor in the next', async (t) => {
  const first: Buffer[] = [];
  const { measureToEnd } = await startTarget(t, (request) => {
    first.push(request);
    return first.length === 1 ? [] : answerAll(first[0] ?? request);
  });
  t.deepEqual(await measureToEnd(1), ['0 of 1']);
  t.deepEqual(await measureToEnd(1), ['0 of 1']);
});

test('concurrent rounds to one target count only their own replies', async (t) => {
  const { measureToEnd } = await startTarget(t, (request, index) => (index < 3 ? [] : answerAll(request)));
  const outcomes = await measureToEnd(1, 300);
  t.is(outcomes.filter((outcome) => outcome === '1 of 1').length, 297);
  t.is(outcomes.filter((outcome) => outcome === '0 of 1').length, 3);
});

test('a request that the kernel cannot send fails the round with the reason', async (t) => {
  const { measure } = await startTarget(t, answerAll);
  t.deepEqual(await measure({ address: '255.255.255.255', count: 4, deadlineMs: AMPLE_MS }), {
    outcome: 'failed',
    cause: 'unsupported',
    reason: 'The target is a broadcast address, not a single host',
  });
});

test('after closing, running rounds neither send nor receive anything more', async (t) => {
  const { measure, close } = await startTarget(t, () => []);
  const round = measure({ count: 3, deadlineMs: SHORT_MS });
  await close();
  t.is(repliesIn(await round), '0 of 1');
});
