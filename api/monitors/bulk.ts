import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import {
  MAX_AT_ONCE,
  MAX_SELECTED,
  codeOf,
  countResults,
  readBulkOrder,
  type BulkResult,
  type BulkSelection,
  type BulkTask,
} from '../../core/monitors/bulk.ts';
import { toUnixSeconds } from '../../core/time.ts';
import {
  MAX_JOBS,
  findBulkJob,
  findKeyedChange,
  insertBulkChange,
  listBulkResults,
  type BulkChange,
  type Selected,
} from '../../models/monitors/bulk-changes.ts';
import { listMonitorNames, listMonitors } from '../../models/monitors/monitors.ts';
import { ApiError, accept, badRequest, conflict, notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { cutPage, readPage } from '../pagination.ts';
import { addressOf, asId, auditActorOf, callerOf, type Caller } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** Maximum and default number of results in a page. */
const MAX_RESULTS = 500;

type BulkParts = Parts<'database' | 'now' | 'makeId' | 'rateLimits' | 'bulkChanges' | 'config'>;

/** `POST /monitors/bulk` */
export function changeMonitorsHandler(dependencies: BulkParts): Handler<'changeMonitors'> {
  const { now, rateLimits, bulkChanges } = dependencies;
  return async (request, response) => {
    const order = accept(readBulkOrder(request.body));
    const isDryRun = request.body.dry_run === true;
    const caller = callerOf(response);
    const { tenantId } = caller;
    const key = isDryRun ? null : readKey(request);
    if (key !== null && (await answerAgain(dependencies, { tenantId, key, response }))) return;
    const startMs = now();
    const monitors = await select(dependencies, tenantId, request.body.select);
    if (monitors.length > 0) await rateLimits.take('bulk', tenantId, monitors.length);
    const task: BulkTask = { account: caller, actor: auditActorOf(caller), address: addressOf(response), order };
    if (isDryRun || (key === null && monitors.length <= MAX_AT_ONCE)) {
      const results = await (isDryRun
        ? bulkChanges.rehearseAll(task, monitors)
        : bulkChanges.changeAll(task, monitors));
      response.json({
        id: null,
        action: order.action,
        dry_run: isDryRun,
        status: 'done',
        ...countResults(results, monitors.length),
        results: results.map(presentResult),
        created_at: toUnixSeconds(startMs),
        finished_at: toUnixSeconds(now()),
      });
      return;
    }
    await answerStored(dependencies, { caller, task, key, monitors, response });
  };
}

/** An idempotency key, and the fingerprint of its request. */
type Key = { text: string; requestHash: Buffer };

function readKey(request: Pick<Request, 'body' | 'headers'>): Key | null {
  const text = request.headers['idempotency-key'];
  if (typeof text !== 'string') return null;
  return { text, requestHash: createHash('sha256').update(JSON.stringify(request.body)).digest() };
}

/**
 * Responds with the result of the first request with this key; false if there was none. Throws 409 if that had another
 * body, or is in progress.
 */
async function answerAgain(
  dependencies: BulkParts,
  { tenantId, key, response }: { tenantId: string; key: Key; response: Response },
): Promise<boolean> {
  const first = await findKeyedChange(dependencies.database, { tenantId, key: key.text });
  if (first === null) return false;
  if (!first.requestHash.equals(key.requestHash))
    throw conflict('this Idempotency-Key came with another body before: use a new key for another change');
  if (first.status !== 'done' && first.total <= MAX_AT_ONCE)
    throw new ApiError(409, 'the first request with this Idempotency-Key is still under way: try again in a second', {
      'Retry-After': '1',
    });
  await answerWith(dependencies, first, response);
  return true;
}

type StoredRequest = {
  caller: Caller;
  task: BulkTask;
  key: Key | null;
  monitors: readonly Selected[];
  response: Response;
};

/** Stores a change before it is made. A small one is made at once; the rest continues as a job. */
async function answerStored(
  dependencies: BulkParts,
  { caller, task, key, monitors, response }: StoredRequest,
): Promise<void> {
  const { database, makeId, now, bulkChanges } = dependencies;
  const { tenantId } = caller;
  const { order, address } = task;
  const stored = await insertBulkChange(database, {
    id: makeId('blk'),
    tenantId,
    key,
    order,
    actor: auditActorOf(caller),
    address,
    monitors,
    nowMs: now(),
  });
  if (stored === 'busy')
    throw new ApiError(
      429,
      `${MAX_JOBS} bulk changes of this account are under way: wait until one of them is done, or select at most ` +
        `${MAX_AT_ONCE} monitors`,
      { 'Retry-After': '5' },
    );
  if (stored === 'known') {
    // The other one of two concurrent requests was stored only a moment ago.
    if (key !== null && (await answerAgain(dependencies, { tenantId, key, response }))) return;
    throw conflict('this Idempotency-Key is in use: try again in a second');
  }
  if (stored.total > MAX_AT_ONCE) {
    bulkChanges.wake();
    await answerWith(dependencies, stored, response);
    return;
  }
  await answerWith(dependencies, await bulkChanges.finish(stored, task), response);
}

async function answerWith(
  { database, config }: Parts<'database' | 'config'>,
  change: BulkChange,
  response: Response,
): Promise<void> {
  if (change.total > MAX_AT_ONCE) {
    response.status(202).location(`${config.publicUrl}/v1/monitors/bulk/${change.id}`).json(presentChange(change, []));
    return;
  }
  const results = await listBulkResults(database, { change, after: 0, limit: MAX_AT_ONCE });
  response.json(presentChange(change, results));
}

/** `GET /monitors/bulk/{bulk_id}` */
export function getMonitorChangesHandler({
  database,
  config,
}: Parts<'database' | 'config'>): Handler<'getMonitorChanges'> {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { failed } = request.query;
    const id = asId(request.params.bulk_id);
    const change = await findBulkJob(database, { tenantId: callerOf(response).tenantId, id });
    if (change === null) throw notFound('bulk change', id);
    const most = limit ?? MAX_RESULTS;
    const results = await listBulkResults(database, {
      change,
      ...(failed !== undefined && { failed: failed === '1' || failed === 'true' }),
      after: Math.min(after?.at ?? 0, MAX_SELECTED),
      limit: most + 1,
    });
    const page = cutPage(
      results,
      { limit: most, positionOf: ({ position }) => ({ at: position, id: '0' }) },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json(presentChange(change, page));
  };
}

/** Returns the selected monitors in the order of `ids`, or of creation. Throws 400 if there are too many. */
async function select(
  { database }: Parts<'database'>,
  tenantId: string,
  { ids, tags, q }: BulkSelection,
): Promise<Selected[]> {
  if (ids !== undefined) {
    const distinct = [...new Set(ids)];
    const names = await listMonitorNames(database, tenantId, distinct);
    return distinct.map((monitorId) => ({ monitorId, name: names.get(monitorId) ?? null }));
  }
  const filter = { ...(q !== undefined && { q }), ...(tags !== undefined && { tags }) };
  const found = await listMonitors(database, { tenantId, filter, limit: MAX_SELECTED + 1 });
  if (found.length > MAX_SELECTED)
    throw badRequest(
      `select must name at most ${MAX_SELECTED} monitors, and this one has more: narrow it by tags or ids`,
    );
  return found.map(({ id, name }) => ({ monitorId: id, name }));
}

function presentChange(change: BulkChange, results: readonly BulkResult[]): components['schemas']['BulkChange'] {
  const { id, action, status, total, done, succeeded, failed, createdAtMs, finishedAtMs } = change;
  return {
    id: total > MAX_AT_ONCE ? id : null,
    action,
    dry_run: false,
    status,
    total,
    done,
    succeeded,
    failed,
    results: results.map(presentResult),
    created_at: toUnixSeconds(createdAtMs),
    finished_at: finishedAtMs === null ? null : toUnixSeconds(finishedAtMs),
  };
}

function presentResult({ monitorId, name, status, error }: BulkResult): components['schemas']['BulkResult'] {
  return {
    monitor_id: monitorId,
    name,
    status,
    error: error === null ? null : { code: codeOf(status), message: error },
  };
}
