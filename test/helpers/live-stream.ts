import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Harness } from './harness.ts';
import { until } from './until.ts';

/** A received event and its time (milliseconds of `performance.now`). */
export type LiveEvent = { event: string; data: Record<string, unknown>; id: string; atMs: number };

/** A stream of events that is being read. */
export type LiveStream = {
  headers: IncomingHttpHeaders;
  /** Events, without keep-alives. */
  events: LiveEvent[];
  countKeepAlives: () => number;
  /** Lines outside of events, such as the time to wait before a reconnect. */
  asides: string[];
  isEnded: () => boolean;
  /** Waits for an event with all of these fields that arrives after the call. */
  next: (event: string, data?: Record<string, unknown>) => Promise<LiveEvent>;
  close: () => void;
};

/** Opens the stream of an installation and waits until no event can be missed; it ends with the test. */
export async function openLiveStream(t: Harness, url: string, headers: Record<string, string>): Promise<LiveStream> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asking = request(`${url}/v1/live`, { headers, agent: false }, resolve);
    asking.once('error', reject);
    asking.end();
    t.teardown(() => asking.destroy());
  });
  if (answer.statusCode !== 200) throw new Error(`the stream was answered with ${answer.statusCode}`);
  const stream = readEvents(answer);
  await until(() => stream.events.length > 0);
  return stream;
}

function readEvents(answer: IncomingMessage): LiveStream {
  const events: LiveEvent[] = [];
  const asides: string[] = [];
  let keepAlives = 0;
  let isEnded = false;
  let rest = '';
  answer.setEncoding('utf8');
  answer.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block
          .split('\n')
          .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      const [event, data, id] = [fields.get('event'), fields.get('data'), fields.get('id')];
      if (event === 'keep-alive') keepAlives += 1;
      else if (event === undefined || data === undefined) asides.push(block);
      else
        events.push({
          event,
          data: JSON.parse(data) as Record<string, unknown>,
          id: id ?? '',
          atMs: performance.now(),
        });
    }
  });
  answer.once('error', () => (isEnded = true));
  answer.once('close', () => (isEnded = true));
  return {
    headers: answer.headers,
    events,
    countKeepAlives: () => keepAlives,
    asides,
    isEnded: () => isEnded,
    next: (event, data = {}) =>
      until(() =>
        events.find(
          (one) => one.event === event && Object.entries(data).every(([name, value]) => one.data[name] === value),
        ),
      ),
    close: () => answer.destroy(),
  };
}
