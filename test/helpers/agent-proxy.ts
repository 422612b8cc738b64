import http from 'node:http';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';
import { until } from './until.ts';

/** A forwarded request and its response. */
export type Passage = { path: string; body: string; status: number; answer: string };

/**
 * The proxy between an agent and the service. It records all traffic, can be shut, and may change the responses to the
 * agent.
 */
export type AgentProxy = {
  url: string;
  passages: readonly Passage[];
  /** While shut, the proxy closes connections without a response, like a network that is down. */
  state: { isShut: boolean };
  /** Resolves after the next check-in has passed. */
  nextPull: () => Promise<unknown>;
};

export type AgentProxyOptions = {
  /** Returns the current URL of the service. */
  serviceUrl: () => string;
  /** Changes a response before the agent gets it. */
  distort?: (answer: string) => string;
};

type Answered = { status: number; headers: http.IncomingHttpHeaders; text: string };

const SHUT: Answered = { status: 0, headers: {}, text: '' };

/** Starts a proxy on a free port. */
export async function startAgentProxy(
  t: Harness,
  { serviceUrl, distort = (text) => text }: AgentProxyOptions,
): Promise<AgentProxy> {
  const passages: Passage[] = [];
  const state = { isShut: false };
  const { port } = await startHttpServer(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on(
      'end',
      () => void answer(request, response, Buffer.concat(chunks).toString('utf8')).catch(() => request.destroy()),
    );
  });

  async function answer(request: http.IncomingMessage, response: http.ServerResponse, body: string): Promise<void> {
    const { status, headers, text } = state.isShut ? SHUT : await pass(request, body);
    if (state.isShut) return void request.destroy();
    passages.push({ path: request.url ?? '', body, status, answer: text });
    const shown = distort(text);
    const { 'content-length': _length, 'transfer-encoding': _encoding, connection: _connection, ...kept } = headers;
    response
      .writeHead(status, { ...kept, ...(status !== 304 && { 'content-length': Buffer.byteLength(shown) }) })
      .end(shown);
  }

  function pass({ method, url, headers }: http.IncomingMessage, body: string): Promise<Answered> {
    const { 'accept-encoding': _compression, ...rest } = headers;
    return new Promise((resolve, reject) => {
      const onward = http.request(`${serviceUrl()}${url}`, { method, headers: rest, agent: false }, (answered) => {
        const chunks: Buffer[] = [];
        answered.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
        answered.on('end', () =>
          resolve({
            status: answered.statusCode ?? 0,
            headers: answered.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      });
      onward.on('error', reject).end(body);
    });
  }

  return {
    url: `http://127.0.0.1:${port}`,
    passages,
    state,
    nextPull() {
      const before = pulls();
      return until(() => pulls() > before);
    },
  };

  function pulls(): number {
    return passages.filter(({ path }) => path === '/agent/v1/pull').length;
  }
}
