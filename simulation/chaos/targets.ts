import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Harness } from '../../test/helpers/harness.ts';
import { startHttpServer } from '../../test/helpers/http-server.ts';
import { conditionAt, type Condition, type MonitorScript } from './script.ts';

/** One request to a target, its time (Unix milliseconds), and the condition that answered it. */
export type TargetRequest = { index: number; atMs: number; met: Condition };

export type Targets = {
  urlOf: (index: number) => string;
  requests: readonly TargetRequest[];
  /** Starts the script; until then all targets are up. */
  begin: (atMs: number) => void;
};

/** Response time of a degraded target in milliseconds, above its monitor's threshold. */
const DEGRADED_AFTER_MS = 2400;
export const SLOW_FROM_MS = 2000;

/** Time after which a blip without a request ends, in milliseconds. */
const BLIP_OVER_AFTER_MS = 3000;

/** Serves all targets of a script; the script and the time alone decide how a request is answered. */
export async function serveTargets(harness: Harness, scripts: readonly MonitorScript[]): Promise<Targets> {
  const requests: TargetRequest[] = [];
  const blips = scripts.map(({ blipsMs }) => [...blipsMs]);
  let beganAtMs = Number.POSITIVE_INFINITY;

  const isBlip = (index: number, atMs: number): boolean => {
    const left = blips[index] ?? [];
    while ((left[0] ?? atMs) < atMs - BLIP_OVER_AFTER_MS) left.shift();
    if (left[0] === undefined || left[0] > atMs) return false;
    left.shift();
    return true;
  };

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const index = Number(request.url?.slice(1));
    const script = scripts[index];
    if (script === undefined) return void response.writeHead(404).end();
    const nowMs = Date.now();
    const met = isBlip(index, nowMs - beganAtMs) ? 'down' : conditionAt(script, nowMs - beganAtMs);
    requests.push({ index, atMs: nowMs, met });
    if (met === 'up') response.end('ok');
    else if (met === 'degraded') setTimeout(() => response.end('ok'), DEGRADED_AFTER_MS);
    else if (script.failure === 'status') response.writeHead(503).end();
    else if (script.failure === 'reset') request.socket.resetAndDestroy();
  };

  const { port } = await startHttpServer(harness, answer);
  return {
    urlOf: (index) => `http://127.0.0.1:${port}/${index}`,
    requests,
    begin(atMs) {
      beganAtMs = atMs;
    },
  };
}
