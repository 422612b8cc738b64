-- Steady results are stored packed (D-475): up, with nothing to say but how long the check took. Each is a row
-- of `recent_results` for an hour or two, and then one of the elements of a row of `packed_results`. All others, and
-- those that come late, are rows of `check_results` as before.

-- The steady results of the last hours. Unlogged: `result_batches` has them too, from which they come back
-- after a crash of PostgreSQL.
CREATE UNLOGGED TABLE recent_results (
  due_at      bigint NOT NULL,
  monitor_no  integer NOT NULL,
  agent_no    integer NOT NULL,
  latency_ms  smallint,
  http_status smallint,
  timings     text,                -- `writeTimings` of core/incidents/failure-evidence.ts
  PRIMARY KEY (monitor_no, agent_no, due_at)
);

-- Has its one row while `recent_results` is whole: a crash empties both.
CREATE UNLOGGED TABLE recent_results_whole (only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one));
INSERT INTO recent_results_whole DEFAULT VALUES;

-- The results of `recent_results` as they came, a batch in a row: read after a crash only. A part has the batches of an
-- hour, and is emptied as a whole once that is packed; `slotOf` of models/checks/recent-results.ts names it.
CREATE TABLE result_batches (
  slot          smallint NOT NULL,
  newest_due_at bigint NOT NULL,
  results       bytea NOT NULL     -- `encodeBatch` of the same file
) PARTITION BY LIST (slot);
ALTER TABLE result_batches ALTER COLUMN results SET STORAGE EXTERNAL;
CREATE TABLE result_batches_0 PARTITION OF result_batches FOR VALUES IN (0) WITH (toast_tuple_target = 8160);
CREATE TABLE result_batches_1 PARTITION OF result_batches FOR VALUES IN (1) WITH (toast_tuple_target = 8160);
CREATE TABLE result_batches_2 PARTITION OF result_batches FOR VALUES IN (2) WITH (toast_tuple_target = 8160);

-- The results of a monitor by a source that were due in an hour, in the order of time. The arrays are parallel. A
-- source's ticks lie whole seconds apart; what was due at another millisecond, or had another status, is another row.
CREATE TABLE packed_results (
  at           bigint NOT NULL,     -- the beginning of the hour, and the milliseconds of the second
  monitor_no   integer NOT NULL,
  agent_no     integer NOT NULL,
  http_status  smallint,
  first_second smallint NOT NULL,   -- from `at` to when the first and the last were due
  last_second  smallint NOT NULL,
  seconds      smallint[],          -- when each was due; null where they were as far from one another
  latencies_ms smallint[] NOT NULL,
  timings      text[]               -- null where none has any
) PARTITION BY RANGE (at);
CREATE INDEX packed_results_source ON packed_results (monitor_no, agent_no, at);
-- written in the order of time
CREATE INDEX packed_results_time ON packed_results USING brin (at) WITH (pages_per_range = 32);

-- Whether the process reads packed results. Results are packed once all do.
ALTER TABLE processes ADD COLUMN reads_packed boolean NOT NULL DEFAULT false;

-- What a result stores of its timings, in the column `detail` of `check_results`.
CREATE FUNCTION timings_detail(timings text) RETURNS jsonb LANGUAGE sql STABLE
  RETURN CASE WHEN timings IS NOT NULL THEN jsonb_build_object('phases', timings) END;

-- The results that are rows of their own, in the columns of `check_results`.
CREATE VIEW single_results AS
  SELECT due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail FROM check_results
  UNION ALL
  SELECT due_at, monitor_no, agent_no, latency_ms::integer, http_status, 1::smallint, NULL::smallint,
         timings_detail(timings)
  FROM recent_results;

-- The packed results that were due from one moment to another, which is excluded, in Unix milliseconds and in the
-- columns of `check_results`. `packed_at` is the `at` of their row: with it, few rows are unpacked for a short time of
-- a source.
CREATE FUNCTION unpacked_results(from_ms bigint, to_ms bigint) RETURNS TABLE (
  due_at bigint, monitor_no integer, agent_no integer, latency_ms integer, http_status smallint, verdict smallint,
  cause smallint, timings text, detail jsonb, packed_at bigint
) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT e.due_at, p.monitor_no, p.agent_no, e.latency_ms, p.http_status, 1::smallint, NULL::smallint, e.timings,
         timings_detail(e.timings), p.at
  FROM packed_results p, LATERAL (
    SELECT p.at + 1000 * coalesce(u.second::bigint, p.first_second + (u.ordinal - 1)
             * (p.last_second - p.first_second) / greatest(cardinality(p.latencies_ms) - 1, 1)) AS due_at,
           u.latency_ms::integer AS latency_ms, u.timings
    FROM unnest(p.seconds, p.latencies_ms, p.timings) WITH ORDINALITY AS u (second, latency_ms, timings, ordinal)
  ) e
  WHERE p.at > from_ms - 3600000 AND p.at < to_ms
    AND p.at + 1000 * p.last_second >= from_ms AND p.at + 1000 * p.first_second < to_ms
    AND e.due_at >= from_ms AND e.due_at < to_ms;
END;

-- All results that were due from one moment to another, which is excluded.
CREATE FUNCTION results_due(from_ms bigint, to_ms bigint) RETURNS TABLE (
  due_at bigint, monitor_no integer, agent_no integer, latency_ms integer, http_status smallint, verdict smallint,
  cause smallint, detail jsonb
) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT s.due_at, s.monitor_no, s.agent_no, s.latency_ms, s.http_status, s.verdict, s.cause, s.detail
  FROM single_results s WHERE s.due_at >= from_ms AND s.due_at < to_ms
  UNION ALL
  SELECT u.due_at, u.monitor_no, u.agent_no, u.latency_ms, u.http_status, u.verdict, u.cause, u.detail
  FROM unpacked_results(from_ms, to_ms) u;
END;

-- When a source's newest result since a moment was due; null where there is none. What is packed is older than an hour,
-- so that it is looked at only where the newest single one is as old: of the newest hour, which may be several rows.
CREATE FUNCTION newest_result(monitor_no integer, agent_no integer, since_ms bigint, now_ms bigint)
RETURNS TABLE (due_at bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT n.due_at FROM (
    SELECT CASE WHEN s.due_at >= now_ms - 3600000 THEN s.due_at ELSE greatest(s.due_at, (
      SELECT max(p.at + 1000 * p.last_second) FROM packed_results p
      WHERE p.monitor_no = newest_result.monitor_no AND p.agent_no = newest_result.agent_no AND p.at >= (
        SELECT q.at / 3600000 * 3600000 FROM packed_results q
        WHERE q.monitor_no = newest_result.monitor_no AND q.agent_no = newest_result.agent_no
          AND q.at > since_ms - 3600000 AND q.at <= now_ms
        ORDER BY q.at DESC LIMIT 1)
        AND p.at > since_ms - 3600000 AND p.at <= now_ms)) END AS due_at
    FROM (SELECT max(r.due_at) AS due_at FROM single_results r
          WHERE r.monitor_no = newest_result.monitor_no AND r.agent_no = newest_result.agent_no
            AND r.due_at >= since_ms) s
  ) n WHERE n.due_at >= since_ms;
END;

-- `observed_checks` over all results, which takes its place.
CREATE FUNCTION observed_results(from_ms bigint, to_ms bigint) RETURNS TABLE (
  monitor_no integer, agent_no integer, at bigint, verdict smallint, latency_ms integer, phases integer[]
) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT o.monitor_no, o.agent_no, o.at, o.verdict, o.latency_ms, o.phases FROM observed_checks(from_ms, to_ms) o
  UNION ALL
  SELECT r.monitor_no, r.agent_no, r.due_at, 1::smallint, r.latency_ms::integer,
         string_to_array(r.timings, ' ', '-')::integer[]
  FROM recent_results r WHERE r.due_at >= from_ms AND r.due_at < to_ms
  UNION ALL
  SELECT u.monitor_no, u.agent_no, u.due_at, u.verdict, u.latency_ms, string_to_array(u.timings, ' ', '-')::integer[]
  FROM unpacked_results(from_ms, to_ms) u;
END;
