import type { RequestHandler, Router } from 'express';
import type { QueueBoardOptions } from './queue-board.ts';

/** Makes the board at its first admitted request: most processes never show it, and it takes long to load. */
export function loadQueueBoard(options: QueueBoardOptions): RequestHandler {
  let loading: Promise<Router> | null = null;
  return async (request, response, next) => {
    loading ??= import('./queue-board.ts').then(({ createQueueBoard }) => createQueueBoard(options));
    const board = await loading;
    board(request, response, next);
  };
}
