import anyTest, { type ExecutionContext } from 'ava';
import { VERDICT_CODES } from '../../../core/checks/verdict.ts';
import type { MonitorState } from '../../../core/incidents/state.ts';
import type {
  MaintenanceFigures,
  ReportDay,
  ReportIncident,
  ReportMonitor,
} from '../../../core/statistics/reports/content.ts';
import type { CountedState } from '../../../core/statistics/sla.ts';
import { insertTransitions } from '../../../models/incidents/history.ts';
import { runOn } from '../../../models/sql.ts';
import { rollDay, rollHour } from '../../../models/statistics/make-rollups.ts';
import { findReport, listReports, type FullReport } from '../../../models/statistics/reports.ts';
import { beginRollups } from '../../../models/statistics/rollups.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { makeReports } from '../../../workers/statistics/reports.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { seeded } from '../../helpers/seeded.ts';

const test = anyTest;

const DAY_MS = 86_400_000;
/** A tenant's year and the days around it: reports reach back 13 months, and the last week ends now. */
const CREATED_MS = Date.UTC(2024, 11, 20, 15, 30);
const END_MS = Date.UTC(2026, 0, 5);
const NOW_MS = END_MS + 600_000;
const FIRST_DAY_MS = Date.UTC(2024, 11, 20);
/** Start of the hour with checks, within a day. */
const NOON_MS = 12 * 3_600_000;
const ORIGIN_SECOND = Date.UTC(2024, 11, 1) / 1000;

const STATES = [
  'up',
  'degraded',
  'down',
  'unknown',
  'paused',
  'pending',
  'maintenance',
] as const satisfies readonly CountedState[];
const ABSENT = 255;

type Incident = Pick<ReportIncident, 'id' | 'state'> & {
  startedAtMs: number;
  resolvedAtMs: number | null;
  resolution: 'recovered' | 'paused' | null;
};
type Check = { atMs: number; verdict: 'up' | 'degraded' | 'down' | 'none'; latencyMs: number };
type Life = {
  id: string;
  no: number;
  createdSecond: number;
  target: number | null;
  transitions: { atMs: number; to: MonitorState }[];
  incidents: Incident[];
  checks: Check[];
  maintenance: Maintenance[];
};
/** Maintenance of a monitor; `lateMs` is the part of it, from its start, that was entered afterwards. */
type Maintenance = { startMs: number; endMs: number; lateMs: number; isExcluded: boolean };
type Gap = { kind: string; startMs: number; endMs: number };

test('every weekly and monthly report of a generated year matches a second-by-second count', async (t) => {
  const runtime = await openTestRuntime(t);
  const random = seeded(20_250_101);
  const gaps = inventGaps(random);
  const lives: Life[] = [];
  for (const [index, target] of [99.9, 99.5, null, 100].entries())
    lives.push(await live(runtime, random, { index, target }));
  await storeYear(runtime, lives, gaps);

  await runtime.database.pool.query(`INSERT INTO service_marks (name, at, resumed_at) VALUES ('sweep', $1, $1)`, [
    NOW_MS,
  ]);
  const { reports } = await makeReports({ ...runtime, now: () => NOW_MS });
  t.is(reports, 53 + 13);
  const { reports: made } = await listReports(runtime.database, { tenantId: runtime.tenantId });
  t.is(made.filter(({ period }) => period === 'week').length, 53);
  t.deepEqual(
    made
      .filter(({ period }) => period === 'month')
      .map(({ periodStart }) => new Date(periodStart * 1000).toISOString().slice(0, 7))
      .slice(0, 12),
    [
      '2025-12',
      '2025-11',
      '2025-10',
      '2025-09',
      '2025-08',
      '2025-07',
      '2025-06',
      '2025-05',
      '2025-04',
      '2025-03',
      '2025-02',
      '2025-01',
    ],
  );

  const painted = lives.map((life) => ({
    life,
    seconds: paint(life, gaps),
    withMaintenance: paint({ ...life, maintenance: [] }, gaps),
  }));
  for (const { id } of made) {
    const report = await findReport(runtime.database, { tenantId: runtime.tenantId, id });
    if (report === null) throw new Error('The report is gone');
    isTrue(t, report, { painted, gaps });
  }
  t.is((await makeReports({ ...runtime, now: () => NOW_MS + 86_400_000 })).reports, 0);
});

/** A life with the state of each second, with and without maintenance. */
type Painted = { life: Life; seconds: Uint8Array; withMaintenance: Uint8Array };

function isTrue(
  t: ExecutionContext,
  report: FullReport,
  { painted, gaps }: { painted: readonly Painted[]; gaps: readonly Gap[] },
): void {
  const { periodStart: from, periodEnd: to, content, details } = report;
  const there = painted.filter(({ life }) => life.createdSecond < to);
  t.deepEqual(
    content.monitors.map(({ id }) => id),
    there.map(({ life }) => life.id),
  );
  const total = new Map<CountedState, number>();
  const totalWithMaintenance = new Map<CountedState, number>();
  let incidents = 0;
  for (const [index, { life, seconds, withMaintenance }] of there.entries()) {
    const line = content.monitors[index];
    const days = details?.days[life.id];
    if (line === undefined || days === undefined) throw new Error('The monitor is missing');
    const counted = count(seconds, from, to);
    const countedWith = count(withMaintenance, from, to);
    for (const state of STATES) {
      total.set(state, (total.get(state) ?? 0) + (counted.get(state) ?? 0));
      totalWithMaintenance.set(state, (totalWithMaintenance.get(state) ?? 0) + (countedWith.get(state) ?? 0));
    }
    t.is(
      [...counted.values()].reduce((sum, each) => sum + each, 0),
      to - Math.max(from, life.createdSecond),
      'every second is accounted for',
    );
    t.deepEqual(
      shownLine(line),
      {
        ...naiveLine(life, counted, { from, to }),
        maintenance_seconds: counted.get('maintenance') ?? 0,
        retroactive_seconds: lateSeconds({ life, seconds }, { from, to }),
        uptime_percent_with_maintenance: uptimeOf(countedWith),
        service_hours: null,
      },
      `${report.period} ${from} ${life.id}`,
    );
    incidents += line.incidents;
    isPercentile(t, line.response_ms, { life, from, to });
    const dates = Array.from({ length: (to - from) / 86_400 }, (_, day) => from + day * 86_400);
    t.deepEqual(
      days.map(({ date, uptime_percent: uptime, worst_state: worst }) => ({ date, uptime, worst })),
      dates.map((day) => naiveDay(seconds, day)),
    );
    for (const [at, day] of days.entries())
      isPercentile(t, day.response_ms, { life, from: from + at * 86_400, to: from + (at + 1) * 86_400 });
  }
  t.like(content.summary, {
    monitors: there.length,
    incidents,
    uptime_percent: uptimeOf(total),
    down_seconds: total.get('down') ?? 0,
    maintenance_seconds: total.get('maintenance') ?? 0,
    uptime_percent_with_maintenance: uptimeOf(totalWithMaintenance),
  });
  const listed = there.flatMap(({ life }) =>
    life.incidents.filter((incident) => secondsInside(incident, { from, to }) !== null),
  );
  t.deepEqual(details?.incidents.map(({ id }) => id).toSorted(), listed.map(({ id }) => id).toSorted());
  t.deepEqual(
    details?.service_gaps.length,
    gaps.filter((gap) => gap.endMs > from * 1000 && gap.startMs < to * 1000).length,
  );
}

function shownLine({ name: _name, response_ms: _ms, ...line }: ReportMonitor) {
  return line;
}

/** Counts the seconds of retroactively entered maintenance that count as maintenance, one by one. */
function lateSeconds(
  { life, seconds }: Pick<Painted, 'life' | 'seconds'>,
  { from, to }: { from: number; to: number },
): number {
  const late = new Set<number>();
  for (const { startMs, lateMs } of life.maintenance.filter(({ isExcluded }) => isExcluded))
    for (let at = Math.max(from, second(startMs)); at < Math.min(to, second(startMs + lateMs)); at += 1)
      if (seconds[at - ORIGIN_SECOND] === STATES.indexOf('maintenance')) late.add(at);
  return late.size;
}

function naiveLine(
  life: Life,
  counted: ReadonlyMap<CountedState, number>,
  window: { from: number; to: number },
): Omit<ReportMonitor, 'name' | 'response_ms' | 'service_hours' | keyof MaintenanceFigures> {
  const [up, degraded, down] = [counted.get('up') ?? 0, counted.get('degraded') ?? 0, counted.get('down') ?? 0];
  const all = up + degraded + down;
  // Targets in this test are multiples of 0.1 %.
  const allowed =
    life.target === null || all === 0 ? null : Math.floor((all * Math.round((100 - life.target) * 10)) / 1000);
  const mine = life.incidents.flatMap((incident) => {
    const inside = secondsInside(incident, window);
    return inside === null ? [] : [{ incident, inside }];
  });
  const lengths = mine.flatMap(({ incident: { startedAtMs, resolvedAtMs } }) =>
    resolvedAtMs !== null && second(resolvedAtMs) <= window.to ? [second(resolvedAtMs) - second(startedAtMs)] : [],
  );
  return {
    id: life.id,
    type: 'http',
    uptime_percent: uptimeOf(counted),
    sla_target: life.target,
    sla_met: allowed === null ? null : down <= allowed,
    error_budget_seconds: allowed === null ? null : allowed - down,
    down_seconds: down,
    degraded_seconds: degraded,
    unknown_seconds: counted.get('unknown') ?? 0,
    paused_seconds: counted.get('paused') ?? 0,
    incidents: mine.length,
    longest_incident_seconds: Math.max(0, ...mine.map(({ inside }) => inside)),
    mttr_seconds:
      lengths.length === 0 ? null : Math.round(lengths.reduce((sum, length) => sum + length, 0) / lengths.length),
    checks: life.checks.filter(
      ({ atMs, verdict }) => verdict !== 'none' && atMs >= window.from * 1000 && atMs < window.to * 1000,
    ).length,
  };
}

function naiveDay(
  seconds: Uint8Array,
  from: number,
): { date: string; uptime: ReportDay['uptime_percent']; worst: ReportDay['worst_state'] } {
  const counted = count(seconds, from, from + 86_400);
  const worst =
    (['down', 'degraded', 'unknown', 'up', 'maintenance', 'pending', 'paused'] as const).find((state) =>
      counted.has(state),
    ) ?? null;
  return { date: new Date(from * 1000).toISOString().slice(0, 10), uptime: uptimeOf(counted), worst };
}

/** Counts an incident's seconds in the window, one by one; null if it does not touch the window. */
function secondsInside(
  { startedAtMs, resolvedAtMs }: Incident,
  { from, to }: { from: number; to: number },
): number | null {
  const [start, end] = [second(startedAtMs), resolvedAtMs === null ? second(END_MS) : second(resolvedAtMs)];
  if (start === end) return start >= from && start < to ? 0 : null;
  let inside = 0;
  for (let at = start; at < end; at += 1) if (at >= from && at < to) inside += 1;
  return inside === 0 ? null : inside;
}

function isPercentile(
  t: ExecutionContext,
  shown: ReportMonitor['response_ms'],
  { life: { checks }, from, to }: { life: Life; from: number; to: number },
): void {
  const sorted = checks
    .filter(
      ({ atMs, verdict }) => (verdict === 'up' || verdict === 'degraded') && atMs >= from * 1000 && atMs < to * 1000,
    )
    .map(({ latencyMs }) => latencyMs)
    .sort((a, b) => a - b);
  for (const [q, ms] of [
    [0.5, shown.p50],
    [0.95, shown.p95],
    [0.99, shown.p99],
  ] as const) {
    const exact = sorted[Math.ceil(sorted.length * q - 1e-9) - 1];
    if (exact === undefined) t.is(ms, null);
    else if (Math.abs((ms ?? 0) - exact) > exact * 0.02 + 1e-9)
      t.fail(`p${q * 100} of ${from} is ${ms}, counted ${exact}`);
  }
}

function uptimeOf(counted: ReadonlyMap<CountedState, number>): number | null {
  const good = (counted.get('up') ?? 0) + (counted.get('degraded') ?? 0);
  const all = good + (counted.get('down') ?? 0);
  return all === 0 ? null : Math.floor((good * 100_000) / all) / 1000;
}

/** Computes the state of each second: of the last transition up to its end (D-61), of a gap, or of maintenance. */
function paint({ createdSecond, transitions, maintenance }: Life, gaps: readonly Gap[]): Uint8Array {
  const seconds = new Uint8Array(second(END_MS) - ORIGIN_SECOND).fill(ABSENT);
  let state: MonitorState = 'pending';
  let next = 0;
  for (let at = createdSecond; at < second(END_MS); at += 1) {
    for (; next < transitions.length && second(transitions[next]?.atMs ?? 0) <= at; next += 1)
      state = transitions[next]?.to ?? state;
    seconds[at - ORIGIN_SECOND] = STATES.indexOf(state);
  }
  for (const { startMs, endMs } of gaps) {
    for (let at = Math.max(createdSecond, second(startMs)); at < Math.min(second(endMs), second(END_MS)); at += 1) {
      if (seconds[at - ORIGIN_SECOND] !== STATES.indexOf('paused'))
        seconds[at - ORIGIN_SECOND] = STATES.indexOf('unknown');
    }
  }
  for (const { startMs, endMs } of maintenance.filter(({ isExcluded }) => isExcluded)) {
    for (let at = Math.max(createdSecond, second(startMs)); at < Math.min(second(endMs), second(END_MS)); at += 1) {
      const before = STATES[seconds[at - ORIGIN_SECOND] ?? ABSENT];
      if (before !== 'paused' && before !== 'pending') seconds[at - ORIGIN_SECOND] = STATES.indexOf('maintenance');
    }
  }
  return seconds;
}

function count(seconds: Uint8Array, from: number, to: number): Map<CountedState, number> {
  const counts = new Uint32Array(256);
  for (let at = from; at < to; at += 1) {
    const state = seconds[at - ORIGIN_SECOND] ?? ABSENT;
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return new Map(
    STATES.flatMap((state, index) => ((counts[index] ?? 0) === 0 ? [] : [[state, counts[index] ?? 0] as const])),
  );
}

/**
 * Plays the history of a monitor. It has short and long outages, some across midnight and the ends of months, pauses
 * within them, silence, and changes within one second.
 */
async function live(
  runtime: TestRuntime,
  random: () => number,
  { index, target }: { index: number; target: number | null },
): Promise<Life> {
  const monitor = await runtime.addMonitor([], { name: `Shop ${index}`, slaTarget: target });
  const createdSecond = second(CREATED_MS) + [0, 5 * 86_400 + 11, 80 * 86_400 + 7, 200 * 86_400][index]!;
  const life: Life = {
    id: monitor.id,
    no: monitor.no,
    createdSecond,
    target,
    transitions: [],
    incidents: [],
    checks: [],
    maintenance: inventMaintenance(random, createdSecond),
  };
  let atMs = createdSecond * 1000 + 2345;
  const later = (mostSeconds: number) => (atMs += 1 + Math.floor(random() ** 3 * mostSeconds * 1000));
  const turn = (at: number, to: MonitorState) => void life.transitions.push({ atMs: at, to });
  /** Changes to each state at most this many seconds after the previous step. */
  const run = (...steps: readonly (readonly [number, MonitorState])[]) => {
    for (const [mostSeconds, to] of steps) turn(mostSeconds === 0 ? atMs : later(mostSeconds), to);
  };
  const overTheMonth = () => {
    const month = new Date(atMs);
    const edgeMs = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1);
    if (edgeMs > END_MS - 4 * DAY_MS) return;
    turn(edgeMs - 1 - Math.floor(random() * 5000), 'down');
    atMs = edgeMs + Math.floor(random() * 1500);
    turn(atMs, 'up');
  };
  const KINDS: readonly (() => void)[] = [
    () => run([0, 'down'], [0.002, 'up']),
    () => run([0, 'degraded'], [3600, 'down'], [7200, 'degraded'], [600, 'up']),
    () => run([0, 'unknown'], [7200, 'up']),
    () => run([0, 'down'], [3600, 'paused'], [3 * 86_400, 'pending'], [60, 'up']),
    () => run([0, 'down'], [600, 'unknown'], [600, 'down'], [86_400, 'up']),
    () => run([0, 'down'], [2 * 86_400, 'up']),
    overTheMonth,
  ];
  turn(atMs, 'up');
  while (later(index === 3 ? 30 * 86_400 : 6 * 86_400) < END_MS - 4 * DAY_MS)
    KINDS[Math.floor(random() * KINDS.length)]?.();
  if (index === 0) turn(END_MS - 30_500, 'down');
  life.incidents = inventIncidents(life);
  for (let dayMs = FIRST_DAY_MS; dayMs < END_MS; dayMs += DAY_MS) {
    if (dayMs <= createdSecond * 1000) continue;
    for (let minute = 0; minute < 60; minute += 5) {
      const [luck, latencyMs] = [random(), Math.max(1, Math.round(60 * (index + 1) * Math.exp(random() * 3 - 1)))];
      life.checks.push({
        atMs: dayMs + NOON_MS + minute * 60_000,
        verdict: luck < 0.9 ? 'up' : luck < 0.94 ? 'degraded' : luck < 0.98 ? 'down' : 'none',
        latencyMs,
      });
    }
  }
  return life;
}

/** Derives incidents from the transitions by D-45. */
function inventIncidents({ id, transitions }: Life): Incident[] {
  const incidents: Incident[] = [];
  for (const { atMs, to } of transitions) {
    const open = incidents.findLast(({ resolvedAtMs }) => resolvedAtMs === null);
    if (to === 'down' || to === 'degraded') {
      if (open === undefined)
        incidents.push({
          id: `inc_${id}_${String(incidents.length).padStart(4, '0')}`,
          state: to,
          startedAtMs: atMs,
          resolvedAtMs: null,
          resolution: null,
        });
      else if (to === 'down') open.state = 'down';
    } else if (open !== undefined && (to === 'up' || to === 'paused'))
      Object.assign(open, { resolvedAtMs: atMs, resolution: to === 'up' ? 'recovered' : 'paused' });
  }
  return incidents;
}

/**
 * Generates maintenance, some of which overlaps, begins before the monitor, was entered afterwards, or is not excluded.
 */
function inventMaintenance(random: () => number, createdSecond: number): Maintenance[] {
  return Array.from({ length: 60 }, () => {
    const startMs = createdSecond * 1000 - DAY_MS + Math.floor(random() * (END_MS - createdSecond * 1000));
    const lengthMs = 60_000 + Math.floor(random() ** 3 * 3 * DAY_MS);
    const lateMs = random() < 0.3 ? Math.floor(random() * lengthMs) : 0;
    return { startMs, endMs: startMs + lengthMs, lateMs, isExcluded: random() < 0.8 };
  });
}

/** Generates gaps, some of which overlap; one spans the end of a year. */
function inventGaps(random: () => number): Gap[] {
  const gaps = Array.from({ length: 40 }, (_, index) => {
    const startMs = CREATED_MS + Math.floor(random() * (END_MS - CREATED_MS - 2 * DAY_MS));
    return {
      kind: ['clock', 'checks', 'evaluation'][index % 3] ?? 'clock',
      startMs,
      endMs: startMs + 2000 + Math.floor(random() ** 4 * 2 * DAY_MS),
    };
  });
  return [...gaps, { kind: 'checks', startMs: Date.UTC(2025, 0, 1) - 90_500, endMs: Date.UTC(2025, 0, 1) + 90_500 }];
}

async function storeYear(runtime: TestRuntime, lives: readonly Life[], gaps: readonly Gap[]): Promise<void> {
  const { database, tenantId } = runtime;
  const run = runOn(database.pool);
  await run('UPDATE tenants SET created_at = $2 WHERE id = $1', [tenantId, second(CREATED_MS)]);
  await run(
    `INSERT INTO service_gaps (kind, started_at, ended_at)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])`,
    [gaps.map((gap) => gap.kind), gaps.map((gap) => gap.startMs), gaps.map((gap) => gap.endMs)],
  );
  // Each call creates the partitions of five days.
  for (let atMs = FIRST_DAY_MS; atMs < END_MS; atMs += 5 * DAY_MS) await createPartitions(database, atMs + DAY_MS);
  const { no: agentNo } = await runtime.addAgent('frankfurt');
  for (const { id, no, createdSecond, transitions, incidents, checks, maintenance } of lives) {
    await run(
      `WITH given AS (
         SELECT * FROM json_to_recordset($1::json)
           AS m ("startMs" bigint, "endMs" bigint, "lateMs" bigint, "isExcluded" boolean)),
       occurrences AS (
         INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
           all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, retroactive)
         SELECT 'mnt_' || $2::int, $3, 'Upgrade', "startMs"::text, "startMs", "endMs", true, '{}', '{}', 'hold',
           CASE WHEN "isExcluded" THEN 'exclude' ELSE 'count' END, 0,
           int8multirange(int8range("startMs", "startMs" + "lateMs"))
         FROM given RETURNING no, starts_at, ends_at)
       INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
       SELECT $2::int, no, starts_at, ends_at FROM occurrences`,
      [JSON.stringify(maintenance), no, tenantId],
    );
    await run('UPDATE monitors SET created_at = $2 WHERE id = $1', [id, createdSecond]);
    await insertTransitions(
      run,
      transitions.map(({ atMs, to }, index) => ({
        monitorId: id,
        tenantId,
        sequence: index + 1,
        from: transitions[index - 1]?.to ?? 'pending',
        to,
        atMs,
        detectedAtMs: atMs + 500,
        cause: null,
        reason: null,
        evidence: {},
      })),
    );
    await run(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
       SELECT i.id, $2, $3, 'Shop', i.state, 'HTTP 503', '{}', i."startedAtMs", i."startedAtMs", i."resolvedAtMs",
         i.resolution
       FROM json_to_recordset($1::json) AS i (id text, state text, "startedAtMs" bigint, "resolvedAtMs" bigint,
         resolution text)`,
      [JSON.stringify(incidents), tenantId, id],
    );
    await run(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, verdict)
       SELECT r.at, $2, $3, r.ms, r.verdict
       FROM unnest($1::bigint[], $4::int[], $5::smallint[]) AS r (at, ms, verdict)`,
      [
        checks.map(({ atMs }) => atMs),
        no,
        agentNo,
        checks.map(({ latencyMs }) => latencyMs),
        checks.map(({ verdict }) => VERDICT_CODES[verdict]),
      ],
    );
  }
  for (let dayMs = FIRST_DAY_MS; dayMs < END_MS; dayMs += DAY_MS) {
    await rollHour(run, { atMs: dayMs + NOON_MS });
    await rollDay(run, { atMs: dayMs });
  }
  await beginRollups(run, END_MS);
}

function second(ms: number): number {
  return Math.floor(ms / 1000);
}
