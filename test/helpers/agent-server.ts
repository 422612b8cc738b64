import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';
import { until } from './until.ts';

/** A response in place of the usual one. */
export type Refusal = { status: number; headers?: Record<string, string>; error?: string };

export type Json = Record<string, unknown>;

/** A server with only the agent protocol, as its page describes it. */
export type AgentServer = {
  url: string;
  /** All requests that arrived completely, including refused ones. */
  pulls: { headers: IncomingMessage['headers']; body: Json }[];
  ingests: { headers: IncomingMessage['headers']; body: { results: Json[] }; status: number }[];
  /** Returns the accepted results in order of arrival. */
  taken: () => Json[];
  state: {
    work: Json[];
    /** Changes along with the work. */
    etag: string;
    /** While true, connections are closed without a response. */
    isCut: boolean;
    pull: Refusal | null;
    ingest: Refusal | null;
    /** Reports whether a result is malformed; its whole batch is refused. */
    isMalformed: (result: Json) => boolean;
    recheck: (result: Json) => number | null;
    /** `Spotcheck-Time` of check-ins; null = the actual time. */
    time: string | null;
  };
  /** Sets the work, and waits until the agent has fetched it. */
  give: (work: Json[]) => Promise<void>;
};

export async function startAgentServer(t: Harness): Promise<AgentServer> {
  const pulls: AgentServer['pulls'] = [];
  const ingests: AgentServer['ingests'] = [];
  const state: AgentServer['state'] = {
    work: [],
    etag: '"1"',
    isCut: false,
    pull: null,
    ingest: null,
    isMalformed: () => false,
    recheck: () => null,
    time: null,
  };

  const answer = (
    response: ServerResponse,
    { status, headers = {}, error = `refused with ${status}` }: Refusal,
    body: Json = { error, request_id: 'req_1' },
  ) => response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));

  const pull = (request: IncomingMessage, response: ServerResponse, body: Json): void => {
    pulls.push({ headers: request.headers, body });
    if (state.pull !== null) return void answer(response, state.pull);
    const headers = { ETag: state.etag, 'Spotcheck-Time': state.time ?? String(Math.floor(Date.now() / 1000)) };
    if (request.headers['if-none-match'] === state.etag) return void response.writeHead(304, headers).end();
    answer(
      response,
      { status: 200, headers },
      { agentId: 'agt_1', agentKind: 'tenant', capabilities: body['capabilities'], work: state.work },
    );
  };

  const ingest = (request: IncomingMessage, response: ServerResponse, body: { results: Json[] }): void => {
    const refusal =
      state.ingest ?? (body.results.some(state.isMalformed) ? { status: 400, error: 'results[0] is malformed' } : null);
    ingests.push({ headers: request.headers, body, status: refusal?.status ?? 200 });
    if (refusal !== null) return void answer(response, refusal);
    const recheck = body.results.flatMap((result) => {
      const afterMs = state.recheck(result);
      return afterMs === null ? [] : [{ monitorId: result['monitorId'], afterMs }];
    });
    answer(
      response,
      { status: 200 },
      {
        accepted: body.results.length,
        dropped: 0,
        droppedBecause: { notAssigned: 0, future: 0, tooOld: 0, tooMany: 0 },
        recheck,
      },
    );
  };

  const { port } = await startHttpServer(t, (request, response) => {
    if (state.isCut) return request.destroy();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      return request.url === '/agent/v1/pull' ? pull(request, response, body) : ingest(request, response, body);
    });
  });

  return {
    url: `http://127.0.0.1:${port}`,
    pulls,
    ingests,
    taken: () => ingests.filter(({ status }) => status === 200).flatMap(({ body }) => body.results),
    state,
    async give(work) {
      state.work = work;
      state.etag = `"${Number(state.etag.slice(1, -1)) + 1}"`;
      await until(() => pulls.at(-1)?.headers['if-none-match'] === state.etag);
    },
  };
}

/** Returns a work item as the protocol's page describes it, with default settings unless overridden. */
export function workItem(overrides: Json = {}): Json {
  return {
    monitorId: 'mon_1',
    sourceKey: 'agt_1',
    type: 'http',
    target: 'http://127.0.0.1:9/',
    intervalSeconds: 60,
    timeoutMs: 60_000,
    method: 'GET',
    expectedStatus: '2xx',
    followRedirects: true,
    checkSpec: {},
    ...overrides,
  };
}
