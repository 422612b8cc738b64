import { integer, shape, type Problem, type Read } from '../core/monitor-input/checks.ts';

/** The latest moment that can be asked for, in Unix seconds: as in the query parameters of the lists. */
const LATEST = 99_999_999_999;

const moment = integer({ min: 0, max: LATEST });
const input = shape({ since: moment, until: moment });

/** Which deliveries are to be sent again: those made between two moments (Unix milliseconds, both included). */
export type Replay = { sinceMs: number; untilMs: number };

/** Reads the body of a replay, or everything that is wrong with it; without `until` it reaches to now. */
export function readReplay(body: unknown, nowMs: number): Read<Replay> {
  const problems: Problem[] = [];
  const { since, until } = input(body, '', problems) ?? {};
  if (problems.length > 0) return { ok: false, problems };
  if (since === undefined)
    return { ok: false, problems: [{ field: 'since', message: 'since is required: Unix seconds' }] };
  if (until !== undefined && until < since)
    return {
      ok: false,
      problems: [{ field: 'until', message: `until must be ${since} (since) or later, got ${until}` }],
    };
  return { ok: true, value: { sinceMs: since * 1000, untilMs: until === undefined ? nowMs : until * 1000 + 999 } };
}
