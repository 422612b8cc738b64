import { DAY_SECONDS, toUnixSeconds } from '../../core/time.ts';
import { runOn } from '../../models/sql.ts';
import { pageServiceGaps, type StoredGap } from '../../models/statistics/service-gaps.ts';
import { badRequest } from '../api-error.ts';
import type { Handler, Parts, Query } from '../handler.ts';
import { cutPage, readPage, requireWholeNumbers, type WrittenRequest } from '../pagination.ts';
import type { components } from '../schema.generated.ts';

/** Default number of gaps in a page (D-05). */
const DEFAULT_LIMIT = 500;

/** Default time range of the list, in seconds. */
const DEFAULT_WINDOW = 90 * DAY_SECONDS;

/** `GET /service/gaps` */
export function listServiceGapsHandler({
  database,
  config,
  now,
}: Parts<'database' | 'config' | 'now'>): Handler<'listServiceGaps'> {
  return async (request, response) => {
    const nowMs = now();
    const page = readPage(request);
    const window = readWindow(request, nowMs);
    const limit = page.limit ?? DEFAULT_LIMIT;
    const gaps = await pageServiceGaps(runOn(database.pool), {
      ...window,
      ...(page.after && { before: { startMs: page.after.at, no: positionNo(page.after.id) } }),
      limit: limit + 1,
    });
    const shown = cutPage(
      gaps,
      { limit, positionOf: ({ startMs, no }) => ({ at: startMs, id: String(no) }) },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ gaps: shown.map((gap) => presentGap(gap, nowMs)) });
  };
}

function readWindow(
  request: WrittenRequest & { query: Query<'listServiceGaps'> },
  nowMs: number,
): { fromMs: number; toMs: number } {
  requireWholeNumbers(request, ['from', 'to']);
  const { query } = request;
  const to = query.to === undefined ? toUnixSeconds(nowMs) + 1 : query.to;
  const from = query.from === undefined ? Math.max(0, to - DEFAULT_WINDOW) : query.from;
  if (from >= to)
    throw badRequest(
      query.to === undefined
        ? `from must not be in the future (it is ${to - 1} now), got ${from}`
        : `from must be before to (${to}), got ${from}`,
    );
  return { fromMs: from * 1000, toMs: to * 1000 };
}

/** Returns the number in a cursor; throws 400 for the cursor of another list, whose id is not a number. */
function positionNo(id: string): number {
  if (!/^\d{1,15}$/.test(id))
    throw badRequest('cursor must come from the Link header of this list, got a different value');
  return Number(id);
}

function presentGap({ kind, startMs, endMs }: StoredGap, nowMs: number): components['schemas']['RecordedGap'] {
  const startedAt = toUnixSeconds(startMs);
  const endedAt = endMs === null ? null : toUnixSeconds(endMs);
  return {
    kind,
    started_at: startedAt,
    ended_at: endedAt,
    duration_seconds: Math.max(0, (endedAt ?? toUnixSeconds(nowMs)) - startedAt),
  };
}
