import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { EXPOSITION_TYPE } from '../../core/statistics/exposition.ts';
import { writeMetrics } from '../../core/statistics/prometheus-metrics.ts';
import type { Handler, Parts } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import { MetricsSnapshots } from './metrics-snapshots.ts';

/** How long a scrape may take to read its answer, in milliseconds. */
const MOST_READING_MS = 60_000;

/** zlib's fastest: labels repeat, so that a thirtieth is left all the same. */
const LEVEL = 1;

/** `GET /metrics` of an account: Prometheus text, streamed, compressed where the caller accepts it. */
export function getMonitorMetricsHandler({
  database,
  now,
  logger,
  stopping,
  rateLimits,
}: Parts<'database' | 'now' | 'logger' | 'stopping' | 'rateLimits'>): Handler<'getMonitorMetrics'> {
  const snapshots = new MetricsSnapshots({ database, now, logger, stopping });
  return async (request, response) => {
    const { tag: tags = [] } = request.query;
    const { tenantId } = callerOf(response);
    await rateLimits.take('metrics', tenantId);
    const monitors = (await snapshots.read(tenantId)).filter((monitor) =>
      tags.every((tag) => monitor.tags.includes(tag)),
    );
    response.vary('Accept-Encoding').setHeader('Content-Type', EXPOSITION_TYPE);
    const text = Readable.from(writeMetrics(monitors, now()));
    const isZipped = request.acceptsEncodings('gzip') === 'gzip';
    if (isZipped) response.setHeader('Content-Encoding', 'gzip');
    const signal = AbortSignal.timeout(MOST_READING_MS);
    try {
      if (isZipped) await pipeline(text, createGzip({ level: LEVEL }), response, { signal });
      else await pipeline(text, response, { signal });
    } catch (error) {
      // The reader has gone, or is too slow: there is nobody to answer.
      if (!response.destroyed) throw error;
    }
  };
}
