import { expectsStatus, needsBody } from '../core/checks/http/judge.ts';
import type { HttpObservation } from '../core/checks/http/observation.ts';
import { STORED_BODY_BYTES } from '../core/incidents/answer-evidence.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { createProbeClient, type HttpClient, type HttpExchange } from '../net/http-client.ts';
import { HttpJourney } from './http/journey.ts';
import { followRedirect, MAX_REDIRECTS, redirectTarget } from './http/redirect.ts';
import { buildFirstHop, carriesSecrets, type Hop } from './http/request.ts';

/** What a probe may do where it runs (D-30). */
export type ProbeEnvironment = { allowPrivateNetwork: boolean };

const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Makes the http probe: one check with its redirects over fresh connections, under one deadline, measured and not
 * judged (D-21). The probe rejects only where our own machine lacks something.
 */
export function createHttpProbe(environment: ProbeEnvironment): (target: CheckTarget) => Promise<HttpObservation> {
  const send = createProbeClient(environment);
  return (target) => new HttpCheck(target, send).run();
}

class HttpCheck {
  readonly #target: CheckTarget;
  readonly #send: HttpClient;
  readonly #journey = new HttpJourney();
  readonly #readsBody: boolean;

  constructor(target: CheckTarget, send: HttpClient) {
    this.#target = target;
    this.#send = send;
    this.#readsBody = needsBody(target);
  }

  async run(): Promise<HttpObservation> {
    const first = buildFirstHop(this.#target);
    if (first === null) return this.#journey.failed('unsupported', 'The target is not an http or https URL');

    const hasSecrets = carriesSecrets(first);
    let hop = first;
    for (let redirects = 0; ; redirects += 1) {
      const remainingMs = this.#target.timeoutMs - this.#journey.elapsedMs();
      if (remainingMs <= 0) return this.#journey.failed('timeout', 'Timed out while following redirects');

      const exchange = await this.#sendHop(hop, { deadlineMs: remainingMs, hasSecrets });
      this.#journey.add(exchange);
      if (exchange.outcome === 'failed') return this.#journey.failed(exchange.cause, exchange.reason);

      const { status, headers } = exchange;
      const to = this.#nextUrl(hop, { status, location: headers.location });
      if (to === null)
        return await this.#journey.answered(exchange, { isBodyRead: this.#readsBody, hadSecrets: hasSecrets });
      if (redirects === MAX_REDIRECTS)
        return this.#journey.failed('too_many_redirects', `More than ${MAX_REDIRECTS} redirects`);
      if (hasSecrets && hop.url.protocol === 'https:' && to.protocol === 'http:') {
        return this.#journey.failed(
          'insecure_redirect',
          'A redirect from https to http was refused because the check carries secrets',
        );
      }
      hop = followRedirect({ hop, status, to }, first.url);
    }
  }

  #sendHop(hop: Hop, { deadlineMs, hasSecrets }: { deadlineMs: number; hasSecrets: boolean }): Promise<HttpExchange> {
    const headers: Record<string, string> = {};
    for (const { name, value } of hop.headers.values()) headers[name] = value;
    return this.#send({
      url: hop.url,
      method: hop.method,
      headers,
      ...(hop.body !== null && { body: hop.body.text }),
      deadlineMs,
      keepsBody: true,
      bodyLimit: (status, { location }) =>
        this.#readsBody && this.#nextUrl(hop, { status, location }) === null ? MAX_BODY_BYTES : 0,
      // Of an answer that fails or is to be shown, for people to look at: not where it may repeat secrets.
      glimpseLimit: (status) =>
        hasSecrets || hop.method === 'HEAD' || (expectsStatus(this.#target, status) && this.#target.isShown !== true)
          ? 0
          : STORED_BODY_BYTES,
    });
  }

  #nextUrl(hop: Hop, answer: { status: number; location: string | undefined }): URL | null {
    return this.#target.followRedirects ? redirectTarget(answer, hop.url) : null;
  }
}
