import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';
import { until } from './until.ts';

/** A website to watch: `health.status` is its response status, `hits` counts the requests for each path. */
export type Target = {
  url: (path?: string) => string;
  health: { status: number };
  hits: (path?: string) => number;
  /** Resolves at the next request for `path`. */
  nextHit: (path: string, timeoutMs?: number) => Promise<unknown>;
};

export async function startTarget(t: Harness): Promise<Target> {
  const health = { status: 200 };
  const counts = new Map<string, number>();
  const { port } = await startHttpServer(t, (request, response) => {
    const path = request.url ?? '';
    counts.set(path, (counts.get(path) ?? 0) + 1);
    response.statusCode = health.status;
    response.end('ok');
  });
  const hits = (path = '/') => counts.get(path) ?? 0;
  return {
    url: (path = '/') => `http://127.0.0.1:${port}${path}`,
    health,
    hits,
    nextHit(path, timeoutMs) {
      const before = hits(path);
      return until(() => hits(path) > before, timeoutMs === undefined ? {} : { timeoutMs });
    },
  };
}
