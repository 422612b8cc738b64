import type { RequestHandler } from 'express';
import type { HandlerDependencies } from '../dependencies.ts';
import { callerOf, contextOf } from '../request-context.ts';

/** `GET /live` */
export function watchLiveHandler({ live }: Pick<HandlerDependencies, 'live'>): RequestHandler {
  return (request, response) => {
    const context = contextOf(response);
    if (context.isHead === true) {
      response.type('text/event-stream').end();
      return;
    }
    live.open(response, { caller: callerOf(response), isBack: request.headers['last-event-id'] !== undefined });
    context.isStream = true;
  };
}
