import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Harness } from './harness.ts';
import { until } from './until.ts';

/** A load balancer for web processes that come and go. */
export type LoadBalancer = {
  /** Adds a web process, and resolves once it is ready. */
  add: (url: string) => Promise<void>;
  /** Number of requests with a response below 500, and the failures of the others. */
  answered: () => number;
  failures: readonly string[];
  /** Stops sending, and resolves when no request is in flight. */
  stop: () => Promise<void>;
};

type Call = { method: string; path: string; body?: object };
type Backend = {
  url: string;
  agent: Agent;
  /** Number of polls, and the newest of them that was answered. */
  polls: number;
  newest: number;
  /** Status of `/readyz` at that poll; null if there was no response. */
  status: number | null;
};

const ASK_EVERY_MS = 150;
/** 500 a minute, below the rate limit of a token. */
const SEND_EVERY_MS = 120;
const DEADLINE_MS = 60_000;

/**
 * Sends calls at a steady rate over kept connections to the web processes that were ready when last polled. If none is,
 * it sends to those that did not refuse: on a busy machine `/readyz` may respond late. Failures are not retried.
 */
export function startLoadBalancer(
  t: Harness,
  { token, nextCall }: { token: string; nextCall: (sent: number) => Call },
): LoadBalancer {
  const backends = new Set<Backend>();
  const failures: string[] = [];
  const underWay = new Set<Promise<unknown>>();
  let [sent, answered] = [0, 0];
  let isStarted = false;

  const send = async ({ url, agent }: Backend, { method, path, body }: Call): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    };
    const call = request(
      `${url}${path}`,
      { method, agent, headers, timeout: DEADLINE_MS },
      (response) => void text(response).then(() => resolve(response.statusCode ?? 0), reject),
    );
    call
      .on('timeout', () => call.destroy(new Error('no answer')))
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
    return await promise;
  };
  const ask = async (backend: Backend) => {
    backend.polls += 1;
    const poll = backend.polls;
    const status = await send(backend, { method: 'GET', path: '/readyz' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') backends.delete(backend);
      return null;
    });
    if (poll > backend.newest) Object.assign(backend, { newest: poll, status });
  };
  const sendNext = async () => {
    const all = [...backends];
    const withStatus = (wanted: number | null) => all.filter(({ status }) => status === wanted);
    const choice = [withStatus(200), withStatus(null), all].find(({ length }) => length > 0) ?? all;
    const call = nextCall(sent);
    const backend = choice[sent % choice.length];
    sent += 1;
    const outcome =
      backend === undefined ? 'nobody was there' : await send(backend, call).catch((error: Error) => error.message);
    if (typeof outcome === 'number' && outcome < 500) answered += 1;
    else failures.push(`${call.method} ${call.path}: ${outcome}`);
  };
  const track = (work: Promise<unknown>) => {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  };
  const timers = [
    setInterval(() => [...backends].forEach((backend) => track(ask(backend))), ASK_EVERY_MS),
    setInterval(() => track(isStarted ? sendNext() : Promise.resolve()), SEND_EVERY_MS),
  ];
  const stop = async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all(underWay);
    for (const { agent } of backends) agent.destroy();
  };
  t.teardown(stop);
  return {
    async add(url) {
      const backend: Backend = { url, agent: new Agent({ keepAlive: true }), polls: 0, newest: 0, status: null };
      await until(async () => {
        await ask(backend);
        return backend.status === 200;
      });
      backends.add(backend);
      isStarted = true;
    },
    answered: () => answered,
    failures,
    stop,
  };
}
