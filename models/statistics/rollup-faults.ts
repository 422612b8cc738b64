import { HOUR_MS } from '../../core/time.ts';
import { sqlStateOf, type Run } from '../sql.ts';

/** A monitor at one of its sources: what a roll-up is of. */
export type SourceKey = { monitorNo: number; agentNo: number };

/** A source whose hour or day could not be rolled up, and why. */
export type FailedSource = SourceKey & { error: unknown };

/** An hour of a source that could not be rolled up; `attempts` failed so far. */
export type SetAsideHour = FailedSource & { atMs: number; attempts: number };

/**
 * Classes of SQLSTATE that blame what is stored, and not PostgreSQL's state: data, constraints, limits of values,
 * triggers, damaged pages.
 */
const OF_THE_DATA = new Set(['21', '22', '23', '54', 'P0', 'XX']);

/** A missing partition has the state of a constraint, and is missing for all sources. */
const OF_ALL = new Set(['23514']);

/** As many sources of one hour fail by themselves at the most: beyond it something else is wrong. */
const MOST_FAILED = 5000;

/** The first retry comes after this, the next ones after twice as long each, up to the longest, in milliseconds. */
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * HOUR_MS;

/**
 * Makes roll-ups of all sources but those of which that fails because of what is stored, and returns these. All at once
 * first; then halves, down to the single sources that fail. Any other failure is thrown. Runs in the caller's
 * transaction.
 */
export async function makeWithoutFaulty(
  run: Run,
  { list, make }: { list: () => Promise<SourceKey[]>; make: (only?: readonly SourceKey[]) => Promise<number> },
): Promise<{ rows: number; failed: FailedSource[] }> {
  const whole = await attempt(run, () => make());
  if ('rows' in whole) return { rows: whole.rows, failed: [] };
  const failed: FailedSource[] = [];
  let rows = 0;
  const waiting: SourceKey[][] = halves(await list());
  for (let keys = waiting.pop(); keys !== undefined; keys = waiting.pop()) {
    const part = keys;
    const made = await attempt(run, () => make(part));
    const [only] = part;
    if ('rows' in made) rows += made.rows;
    else if (part.length > 1 || only === undefined) waiting.push(...halves(part));
    else failed.push({ ...only, error: made.error });
    if (failed.length > MOST_FAILED) throw whole.error;
  }
  if (failed.length === 0) throw whole.error;
  return { rows, failed };
}

/** Sets hours of sources aside until their next try, in the transaction that makes the hours of the others. */
export async function setAside(run: Run, hours: readonly SetAsideHour[], nowMs: number): Promise<void> {
  if (hours.length === 0) return;
  await run(
    `INSERT INTO set_aside_hours (at, monitor_no, agent_no, attempts, retry_at)
     SELECT h."atMs", h."monitorNo", h."agentNo", h.attempts, h."retryAtMs"
     FROM json_to_recordset($1::json) AS h ("atMs" bigint, "monitorNo" integer, "agentNo" integer, attempts integer,
       "retryAtMs" bigint)
     ON CONFLICT (at, monitor_no, agent_no) DO UPDATE SET attempts = excluded.attempts, retry_at = excluded.retry_at`,
    [
      JSON.stringify(
        hours.map(({ error: _error, ...hour }) => ({
          ...hour,
          retryAtMs: nowMs + Math.min(FIRST_RETRY_MS * 2 ** (hour.attempts - 1), LONGEST_RETRY_MS),
        })),
      ),
    ],
  );
}

/** How many hours of sources are set aside. */
export async function countSetAside(run: Run): Promise<number> {
  const [row] = await run<{ count: number }>('SELECT count(*) AS count FROM set_aside_hours');
  return row?.count ?? 0;
}

type Attempt = { rows: number } | { error: unknown };

async function attempt(run: Run, make: () => Promise<number>): Promise<Attempt> {
  await run('SAVEPOINT rollup');
  try {
    const rows = await make();
    await run('RELEASE SAVEPOINT rollup');
    return { rows };
  } catch (error) {
    if (!isOfTheData(error)) throw error;
    await run('ROLLBACK TO SAVEPOINT rollup');
    return { error };
  }
}

function isOfTheData(error: unknown): boolean {
  const state = sqlStateOf(error) ?? '';
  return OF_THE_DATA.has(state.slice(0, 2)) && !OF_ALL.has(state);
}

function halves(keys: readonly SourceKey[]): SourceKey[][] {
  const middle = Math.ceil(keys.length / 2);
  return [keys.slice(0, middle), keys.slice(middle)].filter((half) => half.length > 0);
}
