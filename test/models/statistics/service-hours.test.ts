import test from 'ava';
import { ServiceCalendar } from '../../../core/statistics/service-sla.ts';
import { createTestDatabase, openTestDatabase } from '../../helpers/database.ts';
import { TWELVE_ZONES } from '../../helpers/twelve-zones.ts';

const HOURS = 'Mo-Fr 08:00-20:00; Sa 22:00-02:30; Su 01:45-02:15; Mo-Su 00:00-00:30';

/** The same hours for PostgreSQL: weekdays from Monday, start and length. */
const RULES = [
  ['12345', '08:00', '12:00'],
  ['6', '22:00', '04:30'],
  ['7', '01:45', '00:30'],
  ['1234567', '00:00', '00:30'],
];

/**
 * The quarter-hours of two years, each with the latest local time shown by then. Service hours begin and end at the
 * first quarter-hour that reaches their time.
 */
const CLOCK = `
  CREATE TABLE clock AS
  SELECT extract(epoch FROM moment)::bigint * 1000 AS at, max(moment AT TIME ZONE $1) OVER (ORDER BY moment) AS shown
  FROM generate_series($2::timestamptz - interval '4 days', $3::timestamptz + interval '4 days', interval '15 min')
    AS moment`;

const EXPECTED = `
  SELECT lower(part)::bigint AS "startMs", upper(part)::bigint AS "endMs"
  FROM unnest((
    SELECT range_agg(int8range(first.at, greatest(first.at, last.at)) * int8range($2::bigint, $3::bigint))
    FROM json_array_elements($1::json) AS rule,
      generate_series(to_timestamp($2::bigint / 1000 - 259200) AT TIME ZONE 'UTC',
        to_timestamp($3::bigint / 1000 + 172800) AT TIME ZONE 'UTC', '1 day') AS day,
      LATERAL (SELECT at FROM clock WHERE shown >= day + (rule ->> 1)::interval ORDER BY shown, at LIMIT 1) AS first,
      LATERAL (SELECT at FROM clock WHERE shown >= day + (rule ->> 1)::interval + (rule ->> 2)::interval
        ORDER BY shown, at LIMIT 1) AS last
    WHERE strpos(rule ->> 0, extract(isodow FROM day)::text) > 0)) AS part
  ORDER BY 1`;

test('service hours in twelve zones match the local times that PostgreSQL computes', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  const { pool } = openTestDatabase(databaseUrl);
  t.teardown(async () => {
    await pool.end();
    await drop();
  });
  for (const [timezone, year] of TWELVE_ZONES) {
    const [fromMs, toMs] = [Date.UTC(year, 0, 1), Date.UTC(year + 2, 0, 1)];
    const bounds = [new Date(fromMs), new Date(toMs)].map((date) => `'${date.toISOString()}'`);
    await pool.query(
      CLOCK.replace('$1', `'${timezone}'`)
        .replace('$2', bounds[0] ?? '')
        .replace('$3', bounds[1] ?? ''),
    );
    await pool.query('CREATE INDEX ON clock (shown, at)');
    const { rows } = await pool.query(EXPECTED, [JSON.stringify(RULES), fromMs, toMs]);
    await pool.query('DROP TABLE clock');
    t.deepEqual(new ServiceCalendar({ fromMs, toMs }).stretchesOf({ timezone, hours: HOURS }), rows, timezone);
  }
});
