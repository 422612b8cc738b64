import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Registry } from 'prom-client';
import { createWriteProof } from '../../models/system/service-marks.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/** `host` null for all addresses of this machine. */
type MetricsServerOptions = { registry: Registry; port: number; host: string | null; stopping: AbortSignal };

/**
 * Serves a worker process's `/metrics`, `/healthz` and `/readyz` on a separate port; rejects if the port is taken.
 * `/readyz` responds with 503 once `stopping` is aborted.
 */
export async function serveMetrics(
  runtime: Runtime,
  { registry, port, host, stopping }: MetricsServerOptions,
): Promise<RunningProcess> {
  const isStoring = createWriteProof(runtime.database);
  const answers: Readonly<Record<string, () => Promise<{ status: number; type: string; text: string }>>> = {
    '/metrics': async () => ({ status: 200, type: registry.contentType, text: await registry.metrics() }),
    '/healthz': () => Promise.resolve({ status: 200, type: 'application/json', text: '{"status":"ok"}' }),
    '/readyz': () => describeReadiness({ isStoring, findAway: () => runtime.queues.findAway(), stopping }),
  };
  const listener: RequestListener = (request, response) => {
    const answer =
      answers[request.url ?? ''] ??
      (() =>
        Promise.resolve({
          status: 404,
          type: 'application/json',
          text: '{"error":"not found: use /metrics, /healthz or /readyz"}',
        }));
    answer().then(
      ({ status, type, text }) => response.writeHead(status, { 'Content-Type': type }).end(text),
      () => response.writeHead(500).end(),
    );
  };
  const server = createServer(listener).listen({ port, ...(host !== null && { host }) });
  await once(server, 'listening');
  runtime.log.info({ address: server.address() }, 'metrics.listening');
  return {
    name: 'metrics',
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

type Readiness = {
  isStoring: () => Promise<boolean>;
  findAway: () => Promise<readonly string[]>;
  stopping: AbortSignal;
};

async function describeReadiness({
  isStoring,
  findAway,
  stopping,
}: Readiness): Promise<{ status: number; type: string; text: string }> {
  const [isDatabaseUp, away] = await Promise.all([isStoring(), findAway()]);
  const isQueueUp = away.length === 0;
  const isReady = isDatabaseUp && isQueueUp && !stopping.aborted;
  const status = stopping.aborted ? 'stopping' : isReady ? 'ready' : 'not ready';
  return {
    status: isReady ? 200 : 503,
    type: 'application/json',
    text: JSON.stringify({
      status,
      database: isDatabaseUp,
      queue: isQueueUp,
      ...(!isQueueUp && { queues_away: away }),
    }),
  };
}
