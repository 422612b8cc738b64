import { deletePingKey, findPingKey, generatePingKey, replacePingKey } from '../../models/accounts/ping-keys.ts';
import { ApiError } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, callerOf } from '../request-context.ts';

/** `GET /ping-key` */
export function getPingKeyHandler({ database }: Parts<'database'>): Handler<'getPingKey'> {
  return async (_request, response) => {
    const { tenantId, scopes } = callerOf(response);
    const found = await findPingKey(database, tenantId);
    response.setHeader('Cache-Control', 'no-store');
    response.json({
      ping_key: found && { ...(scopes.includes('write') && { key: found.key }), created_at: found.createdAt },
    });
  };
}

/** `POST /ping-key` */
export function replacePingKeyHandler({
  database,
  makeId,
  now,
  rateLimits,
  config,
}: Parts<'database' | 'makeId' | 'now' | 'rateLimits' | 'config'>): Handler<'replacePingKey'> {
  return async (_request, response) => {
    const { tenantId } = callerOf(response);
    await rateLimits.take('token', tenantId);
    const { key, createdAt } = await replacePingKey(database, {
      tenantId,
      id: makeId('pky'),
      key: generatePingKey(config.cell ?? null),
      nowMs: now(),
      author: authorOf(response),
    });
    response.setHeader('Cache-Control', 'no-store');
    response.status(201).json({ ping_key: { key, created_at: createdAt } });
  };
}

/** `DELETE /ping-key` */
export function deletePingKeyHandler({ database }: Parts<'database'>): Handler<'deletePingKey'> {
  return async (_request, response) => {
    if (!(await deletePingKey(database, { tenantId: callerOf(response).tenantId, author: authorOf(response) })))
      throw new ApiError(404, 'this account has no ping key: create one with POST /v1/ping-key');
    response.status(204).end();
  };
}
