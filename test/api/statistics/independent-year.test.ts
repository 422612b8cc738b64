import anyTest, { type TestFn } from 'ava';
import type { MonitorState } from '../../../core/incidents/state.ts';
import { planMaintenance } from '../../../workers/maintenance/plan.ts';
import { makeReport } from '../../../workers/statistics/reports.ts';
import { seeded } from '../../helpers/seeded.ts';
import { withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addMonitor, addTransitions } from './measured-monitor.ts';

// PostgreSQL alone counts a year of SLA here: states, service gaps, maintenance and service hours are sets of seconds,
// and its time zones convert local times. No code of `core` takes part.

const DAY_MS = 86_400_000;
const FROM = Date.UTC(2025, 0, 1) / 1000;
const TO = Date.UTC(2026, 0, 1) / 1000;
const clock = { nowMs: Date.UTC(2024, 11, 20) };

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, { now: () => clock.nowMs });

/** Service hours in the API's format, and as rules for PostgreSQL: weekdays from Monday, start and length. */
type Watched = {
  sla: { target: number; timezone: string; hours: string; exclude_maintenance: boolean };
  rules: readonly (readonly [weekdays: string, begin: string, length: string])[];
};

/** Some hours start or end at times that the clocks skip or repeat. */
const WATCHED: readonly Watched[] = [
  {
    sla: {
      target: 99.5,
      timezone: 'Europe/Berlin',
      hours: 'Mo-Fr 08:00-20:00; Su 02:30-10:00',
      exclude_maintenance: true,
    },
    rules: [
      ['12345', '08:00', '12:00'],
      ['7', '02:30', '07:30'],
    ],
  },
  {
    sla: {
      target: 99,
      timezone: 'America/New_York',
      hours: 'Sa-Su 22:00-06:00; Su 00:15-01:30; We 23:00-3:00',
      exclude_maintenance: false,
    },
    rules: [
      ['67', '22:00', '08:00'],
      ['7', '00:15', '01:15'],
      ['3', '23:00', '04:00'],
    ],
  },
  {
    sla: {
      target: 95,
      timezone: 'Australia/Lord_Howe',
      hours: 'Su 01:45-02:15,22:30-24:00; Mo 00:00-12:00',
      exclude_maintenance: true,
    },
    rules: [
      ['7', '01:45', '00:30'],
      ['7', '22:30', '01:30'],
      ['1', '00:00', '12:00'],
    ],
  },
  {
    sla: { target: 99.95, timezone: 'UTC', hours: '24/7', exclude_maintenance: true },
    rules: [['1234567', '00:00', '24:00']],
  },
];

const ZONE = WATCHED.map(({ sla }) => sla.timezone);

/** Maintenance windows with their starts in local time, and the indexes of their monitors. */
const WINDOWS = [
  {
    body: { cron: '30 2 * * SUN', timezone: 'Europe/Berlin', duration_seconds: 5400, sla: 'exclude' },
    monitors: [0, 1, 2, 3],
    starts: `SELECT day + time '02:30' FROM generate_series(timestamp '2024-12-22', '2026-01-04', '7 days') AS day`,
  },
  {
    body: { cron: '15 2 * * SUN', timezone: 'Australia/Lord_Howe', duration_seconds: 14_400, sla: 'exclude' },
    monitors: [2],
    starts: `SELECT day + time '02:15' FROM generate_series(timestamp '2024-12-22', '2026-01-04', '7 days') AS day`,
  },
  {
    body: {
      rrule: 'FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=23;BYMINUTE=45',
      timezone: 'America/New_York',
      duration_seconds: 10_800,
      sla: 'exclude',
    },
    monitors: [1, 3],
    starts: `SELECT last - (extract(isodow FROM last)::int + 2) % 7 * interval '1 day' + time '23:45'
      FROM generate_series(timestamp '2024-12-01', '2025-12-01', '1 month') AS month,
        LATERAL (SELECT month + interval '1 month' - interval '1 day' AS last) AS ends`,
  },
  {
    body: { starts_at: '2025-03-09T02:30', timezone: 'America/New_York', duration_seconds: 172_800, sla: 'exclude' },
    monitors: [0, 1],
    starts: `SELECT timestamp '2025-03-09 02:30'`,
  },
  {
    body: { cron: '0 12 * * *', timezone: 'UTC', duration_seconds: 3600, sla: 'count' },
    monitors: [0, 1, 2, 3],
    starts: null,
  },
] as const;

const FUNCTIONS = `
  -- The first quarter of an hour at which the clocks of a zone show a local time, or a later one.
  CREATE FUNCTION first_moment(zone text, local timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT extract(epoch FROM moment)::bigint
    FROM generate_series((local - interval '15 hours') AT TIME ZONE 'UTC',
      (local + interval '15 hours') AT TIME ZONE 'UTC', interval '15 min') AS moment
    WHERE moment AT TIME ZONE zone >= local ORDER BY moment LIMIT 1 $$;
  CREATE FUNCTION seconds_of(int8multirange) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(upper(part) - lower(part)), 0)::bigint FROM unnest($1) AS part $$;
  CREATE TABLE counted_hours (place int, seconds int8multirange);
  CREATE TABLE excluded_times (place int, seconds int8multirange);
  CREATE FUNCTION count_states(monitor text, excluded int8multirange, hours int8multirange) RETURNS TABLE (up bigint,
    degraded bigint, down bigint, unknown bigint, paused bigint, pending bigint, maintenance bigint) LANGUAGE sql AS $$
    WITH changes AS (
      SELECT to_state AS state,
        int8range(at / 1000, coalesce(lead(at / 1000) OVER (ORDER BY sequence), 9999999999)) AS part
      FROM transitions WHERE monitor_id = monitor
      UNION ALL SELECT 'pending',
        int8range(created_at, (SELECT min(at) / 1000 FROM transitions WHERE monitor_id = monitor))
      FROM monitors WHERE id = monitor),
    own AS (SELECT state, range_agg(part) AS parts FROM changes GROUP BY state),
    there AS (SELECT int8multirange(int8range(created_at, 9999999999)) AS parts FROM monitors WHERE id = monitor),
    gaps AS (SELECT range_agg(int8range(started_at / 1000, ended_at / 1000)) AS parts FROM service_gaps),
    paused AS (SELECT coalesce((SELECT parts FROM own WHERE state = 'paused'), '{}') AS parts),
    known AS (
      SELECT state, own.parts - gaps.parts AS parts FROM own, gaps WHERE state NOT IN ('paused', 'unknown')
      UNION ALL SELECT 'paused', parts FROM paused
      UNION ALL SELECT 'unknown', coalesce((SELECT parts FROM own WHERE state = 'unknown'), '{}')
        + (gaps.parts * there.parts - paused.parts) FROM gaps, there, paused),
    kept AS (SELECT coalesce((SELECT range_agg(part) FROM known, unnest(parts) AS part
      WHERE state IN ('paused', 'pending')), '{}') AS parts),
    final AS (
      SELECT state, CASE WHEN state IN ('paused', 'pending') THEN known.parts ELSE known.parts - excluded END AS parts
      FROM known
      UNION ALL SELECT 'maintenance', excluded * there.parts - kept.parts FROM there, kept),
    counted AS (SELECT state, seconds_of(parts * hours) AS n FROM final)
    SELECT coalesce(sum(n) FILTER (WHERE state = 'up'), 0)::bigint,
      coalesce(sum(n) FILTER (WHERE state = 'degraded'), 0)::bigint,
      coalesce(sum(n) FILTER (WHERE state = 'down'), 0)::bigint,
      coalesce(sum(n) FILTER (WHERE state = 'unknown'), 0)::bigint,
      coalesce(sum(n) FILTER (WHERE state = 'paused'), 0)::bigint,
      coalesce(sum(n) FILTER (WHERE state = 'pending'), 0)::bigint,
      coalesce(sum(n) FILTER (WHERE state = 'maintenance'), 0)::bigint
    FROM counted $$`;

test('the SLA of a year matches a count by PostgreSQL to the second, in four time zones', async (t) => {
  const { api } = t.context;
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.log(`seed ${seed}`);
  const random = seeded(seed);
  const account = await api.account();
  const ids: string[] = [];
  for (const [place, { sla }] of WATCHED.entries()) ids.push(await addLife(api, account, { place, sla, random }));
  await addGaps(api, random);
  await planYear(api, account, ids);
  await prepareCounting(api);

  const windows = [{ from: FROM, to: TO }, ...Array.from({ length: 6 }, () => windowOf(random))];
  for (const [place, id] of ids.entries())
    for (const { from, to } of windows) {
      const { json } = await account.reader('GET', `/v1/monitors/${id}/stats?from=${from}&to=${to}&resolution=day`);
      const { sla } = WATCHED[place]!;
      const said = `seed ${seed}, ${sla.timezone} from ${from} to ${to}`;
      t.deepEqual(json['totals']['seconds'], await count(api, { id, place, window: { from, to } }), said);
      const seconds = await count(api, { id, place, window: { from, to }, sla, hoursOf: place });
      t.deepEqual(
        json['totals']['service_hours'],
        { ...sla, ...(await judge(api, sla.target, seconds)), seconds },
        said,
      );
    }

  for (const [hoursOf, { sla }] of WATCHED.entries()) {
    const query = new URLSearchParams({
      ...sla,
      target: String(sla.target),
      exclude_maintenance: String(sla.exclude_maintenance),
    });
    const { json, text } = await account.reader('GET', `/v1/sla?tag=year&from=${FROM}&to=${TO}&${query.toString()}`);
    t.is(json['monitors']?.length, ids.length, text);
    for (const [place, id] of ids.entries()) {
      const seconds = await count(api, { id, place, window: { from: FROM, to: TO }, sla, hoursOf });
      const line = json['monitors'].find((monitor: { id: string }) => monitor.id === id);
      t.like(line, { ...(await judge(api, sla.target, seconds)), seconds }, `seed ${seed}, ${sla.timezone} over ${id}`);
    }
  }

  for (const month of [2, 9]) {
    const window = {
      period: 'month' as const,
      startSeconds: Date.UTC(2025, month, 1) / 1000,
      endSeconds: Date.UTC(2025, month + 1, 1) / 1000,
    };
    const { database, makeId: newId } = api;
    const made = { tenantId: account.tenantId, window, nowMs: clock.nowMs, isNotified: false };
    await makeReport({ database, newId, publicUrl: api.url }, made);
    const { json } = await account.reader('GET', '/v1/reports?limit=1');
    t.is(json['reports'][0]?.period_start, window.startSeconds);
    for (const line of json['reports'][0]?.monitors ?? []) {
      const place = ids.indexOf(line.id);
      const { sla } = WATCHED[place]!;
      const period = { from: window.startSeconds, to: window.endSeconds };
      const seconds = await count(api, { id: line.id, place, window: period, sla, hoursOf: place });
      t.deepEqual(
        line.service_hours,
        { ...sla, ...(await judge(api, sla.target, seconds)), seconds },
        `seed ${seed}, report of ${sla.timezone}`,
      );
    }
    clock.nowMs += 60_000;
  }
});

/**
 * Adds a monitor with a year of random states, some lasting under a second; one monitor is created in the middle of a
 * day.
 */
async function addLife(
  api: ApiServer,
  account: Account,
  { place, sla, random }: { place: number; sla: Watched['sla']; random: () => number },
): Promise<string> {
  const createdAtMs = place === 1 ? Date.UTC(2025, 2, 2, 13, 14, 15) : Date.UTC(2024, 11, 20, 15);
  const { id } = await addMonitor(api, account, {
    createdAtMs,
    body: { name: sla.timezone, tags: ['year'], sla, sla_target: null },
  });
  const changes: [number, MonitorState][] = [];
  const states = ['up', 'up', 'up', 'down', 'degraded', 'unknown', 'paused', 'pending'] as const;
  for (let atMs = createdAtMs + 2345; atMs < TO * 1000; atMs += 1 + Math.floor(random() ** 6 * 10 * DAY_MS))
    changes.push([atMs, states[Math.floor(random() * states.length)] ?? 'up']);
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, changes);
  return id;
}

async function addGaps({ database }: ApiServer, random: () => number): Promise<void> {
  for (let no = 0; no < 30; no += 1) {
    const startMs = FROM * 1000 + Math.floor(random() * 364 * DAY_MS);
    await database.pool.query(`INSERT INTO service_gaps (kind, started_at, ended_at) VALUES ('checks', $1, $2)`, [
      startMs,
      startMs + 500 + Math.floor(random() ** 4 * 2 * DAY_MS),
    ]);
  }
}

/** Plans the windows before the year, and runs the chore every three weeks: it catches up on missed rounds. */
async function planYear({ database }: ApiServer, { owner }: Account, ids: readonly string[]): Promise<void> {
  for (const { body, monitors } of WINDOWS) {
    const monitorIds = monitors.map((place) => ids[place]);
    const { status, text } = await owner('POST', '/v1/maintenance-windows', {
      name: 'Upgrade',
      monitor_ids: monitorIds,
      ...body,
    });
    if (status !== 201) throw new Error(text);
  }
  for (; clock.nowMs < TO * 1000 + 22 * DAY_MS; clock.nowMs += 21 * DAY_MS)
    await planMaintenance({ database, now: () => clock.nowMs });
}

/** Lets PostgreSQL compute the seconds of service hours and of maintenance for each monitor. */
async function prepareCounting({ database: { pool } }: ApiServer): Promise<void> {
  await pool.query(FUNCTIONS);
  for (const [place, { rules }] of WATCHED.entries())
    await pool.query(
      `INSERT INTO counted_hours
       SELECT $1::int, range_agg(int8range(first, greatest(first, last)))
       FROM json_array_elements($2::json) AS rule,
         generate_series(timestamp '2024-12-28', '2026-01-04', '1 day') AS day,
         LATERAL (SELECT first_moment($3, day + (rule ->> 1)::interval) AS first,
           first_moment($3, day + (rule ->> 1)::interval + (rule ->> 2)::interval) AS last) AS moments
       WHERE strpos(rule ->> 0, extract(isodow FROM day)::text) > 0`,
      [place, JSON.stringify(rules), ZONE[place]],
    );
  for (const { body, monitors, starts } of WINDOWS.filter((window) => window.starts !== null))
    await pool.query(
      `INSERT INTO excluded_times
       SELECT place, range_agg(int8range(first, first + $3))
       FROM (${starts}) AS planned (local), LATERAL (SELECT first_moment($1, local) AS first) AS moments,
         unnest($2::int[]) AS place GROUP BY place`,
      [body.timezone, monitors, body.duration_seconds],
    );
}

type Count = {
  id: string;
  place: number;
  window: { from: number; to: number };
  /** Sets whether maintenance is excluded, which is the default. */
  sla?: Watched['sla'];
  /** Index of the monitor whose service hours are counted; all of the time by default. */
  hoursOf?: number;
};

async function count({ database: { pool } }: ApiServer, { id, place, window, sla, hoursOf }: Count): Promise<object> {
  const { rows } = await pool.query(
    `SELECT * FROM count_states($1,
       CASE WHEN $2 THEN (SELECT range_agg(part) FROM excluded_times, unnest(seconds) AS part WHERE place = $3)
         ELSE '{}' END,
       int8multirange(int8range($4, $5)) * coalesce((SELECT seconds FROM counted_hours WHERE place = $6), '{(,)}'))`,
    [id, sla?.exclude_maintenance ?? true, place, window.from, window.to, hoursOf ?? null],
  );
  return rows[0] ?? {};
}

/** Judges a target by the seconds, in exact decimals. */
async function judge({ database: { pool } }: ApiServer, target: number, seconds: object): Promise<object> {
  const { rows } = await pool.query<{ judged: object }>(
    `SELECT CASE WHEN counted = 0 THEN json_build_object('uptime_percent', null, 'met', null, 'budget', null)
       ELSE json_build_object(
         'uptime_percent', (floor((counted - down) * 100000 / counted) / 1000)::float,
         'met', down <= counted * (100 - $2::numeric) / 100,
         'budget', json_build_object('total_seconds', floor(counted * (100 - $2::numeric) / 100)::bigint,
           'used_seconds', down::bigint,
           'left_seconds', (floor(counted * (100 - $2::numeric) / 100) - down)::bigint)) END AS judged
     FROM (SELECT (s ->> 'down')::numeric AS down,
       (s ->> 'up')::numeric + (s ->> 'degraded')::numeric + (s ->> 'down')::numeric AS counted
       FROM (VALUES ($1::json)) AS given (s)) AS sums`,
    [JSON.stringify(seconds), String(target)],
  );
  return rows[0]?.judged ?? {};
}

/** Returns a random window of the year, in whole seconds. */
function windowOf(random: () => number): { from: number; to: number } {
  const from = FROM + Math.floor(random() * (TO - FROM - 2));
  return { from, to: from + 1 + Math.floor(random() ** 2 * (TO - from - 1)) };
}
