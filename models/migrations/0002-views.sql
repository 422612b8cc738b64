-- Conditions and rows that statements name in one word (D-400). PostgreSQL puts them into the statement that uses them,
-- so that its plan is that of the plain text: a condition is a function of a row, without subqueries; what needs a
-- subquery is a function in FROM. None is STRICT, VOLATILE or SECURITY DEFINER: those are called instead, row by row.

-- AGENTS --------------------------------------------------------------------------------------------------------------

-- Whether an agent counts: it was not found silent (D-56), and its token is still good. The service itself always is.
CREATE FUNCTION is_online(agent agents) RETURNS boolean LANGUAGE sql STABLE
  RETURN agent.offline_at IS NULL AND agent.revoked_at IS NULL;

-- The agents that can fall silent: they have checked in, may still do so, and are no part of the service itself.
-- `last_seen_ms` is the latest moment of a check-in, which is stored in whole seconds.
CREATE VIEW watched_agents AS
  SELECT no, id, tenant_id, kind, name, region, last_seen_at, last_seen_at * 1000 + 999 AS last_seen_ms, offline_at,
         held_until
  FROM agents WHERE kind <> 'service' AND revoked_at IS NULL AND last_seen_at IS NOT NULL;

-- CHECKS --------------------------------------------------------------------------------------------------------------

-- Whether a check says how fast its target is: it was up or degraded. What failed was cut off, or answered something
-- else.
CREATE FUNCTION is_timed(verdict smallint) RETURNS boolean LANGUAGE sql STABLE
  RETURN verdict IN (1, 2);

-- `bucketOf` of core/statistics/latency-histogram.ts.
CREATE FUNCTION latency_bucket(latency_ms integer) RETURNS smallint LANGUAGE sql STABLE
  RETURN (CASE WHEN latency_ms <= 1 THEN 0 ELSE ceil(ln(latency_ms::float8) / ln(1.04::float8)) END)::smallint;

-- Everything that was observed of monitors from one moment to another, which is excluded, in Unix milliseconds: the
-- results, and the pings that report an end. A ping that changed something, and a deadline that passed, are among the
-- results already, by the same time. A job may run longer than a result can say (`least`).
CREATE FUNCTION observed_checks(from_ms bigint, to_ms bigint) RETURNS TABLE (
  monitor_no integer, agent_no integer, at bigint, verdict smallint, latency_ms integer, phases integer[]
) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT r.monitor_no, r.agent_no, r.due_at, r.verdict, r.latency_ms,
         string_to_array(r.detail ->> 'phases', ' ', '-')::integer[]
  FROM check_results r WHERE r.due_at >= from_ms AND r.due_at < to_ms
  UNION ALL
  SELECT p.monitor_no, p.agent_no, p.at, p.verdict, p.latency_ms, NULL FROM (
    SELECT h.monitor_no, (SELECT a.no FROM agents a WHERE a.kind = 'service') AS agent_no, h.at,
           (CASE WHEN h.kind = 'success' OR h.exit_status = 0 THEN 1 ELSE 3 END)::smallint AS verdict,
           CASE WHEN h.duration_ms IS NOT NULL THEN least(h.duration_ms, 2147483647)::integer END AS latency_ms
    FROM heartbeat_pings h WHERE h.at >= from_ms AND h.at < to_ms AND h.kind <> 'start'
  ) p
  WHERE NOT EXISTS (
    SELECT FROM check_results r WHERE r.monitor_no = p.monitor_no AND r.agent_no = p.agent_no AND r.due_at = p.at
      AND r.due_at >= from_ms AND r.due_at < to_ms);
END;

-- INCIDENTS -----------------------------------------------------------------------------------------------------------

-- How many bad checks in a row make a source down, and how many good ones up again. A heartbeat is down at the first
-- ping missed and up at the first that comes (D-29), whatever its fields say.
CREATE FUNCTION failures_until_down(monitor monitors) RETURNS integer LANGUAGE sql STABLE
  RETURN CASE monitor.type WHEN 'heartbeat' THEN 1 ELSE monitor.down_after_failures END;
CREATE FUNCTION successes_until_up(monitor monitors) RETURNS integer LANGUAGE sql STABLE
  RETURN CASE monitor.type WHEN 'heartbeat' THEN 1 ELSE monitor.up_after_successes END;

-- From when results of a monitor count at a time, in Unix milliseconds (D-41): `freshnessMs` of
-- core/incidents/quorum.ts.
CREATE FUNCTION fresh_since(interval_seconds integer, now_ms bigint) RETURNS bigint LANGUAGE sql STABLE
  RETURN now_ms - greatest(3 * interval_seconds, interval_seconds + 60) * 1000;

-- ALERTS --------------------------------------------------------------------------------------------------------------

-- Whether a channel has failed since it was last well.
CREATE FUNCTION is_ailing(channel channels) RETURNS boolean LANGUAGE sql STABLE
  RETURN channel.failures > 0 OR channel.last_error IS NOT NULL;

-- Whether the outcome of an attempt says anything of its channel. Of a chat that was lost or ended meanwhile it does
-- not: the attempt began before that, and why the chat gets nothing any more must stay to be read.
CREATE FUNCTION takes_alerts(channel channels) RETURNS boolean LANGUAGE sql STABLE
  RETURN channel.type = 'webhook' OR (channel.enabled AND channel.status = 'connected');

-- Whether a delivery can be claimed at a time: it is due, and no claim of it lasts.
CREATE FUNCTION is_due(delivery deliveries, now_ms bigint) RETURNS boolean LANGUAGE sql STABLE
  RETURN delivery.outcome = 'pending' AND delivery.next_attempt_at <= now_ms
    AND coalesce(delivery.claimed_until, 0) <= now_ms;

-- Whether the first attempt at a delivery is not over: it is not begun, or claimed. A claim or a record that is not
-- committed yet leaves it in either.
CREATE FUNCTION is_on_first_attempt(delivery deliveries, now_ms bigint) RETURNS boolean LANGUAGE sql STABLE
  RETURN delivery.outcome = 'pending' AND (delivery.attempts = delivery.attempts_before
    OR (delivery.attempts = delivery.attempts_before + 1 AND delivery.claimed_until > now_ms));

-- The deliveries, by `no`, whose first attempts one has to wait for: earlier ones of its monitor to its channel, and
-- the one before it in its replay.
CREATE FUNCTION deliveries_ahead(channel_id text, monitor_id text, no bigint, after_id text, now_ms bigint)
RETURNS TABLE (ahead_no bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT d.no FROM deliveries d
  WHERE d.channel_id = deliveries_ahead.channel_id AND d.monitor_id = deliveries_ahead.monitor_id
    AND d.no < deliveries_ahead.no AND is_on_first_attempt(d, now_ms)
  UNION ALL
  SELECT d.no FROM deliveries d WHERE d.id = deliveries_ahead.after_id AND is_on_first_attempt(d, now_ms);
END;

-- A row where a delivery is of a monitor about which there is a newer change by now, or which is gone: the people of a
-- chat would take it for how things stand.
CREATE FUNCTION overtaken(event text, monitor_id text, message json) RETURNS TABLE (is_overtaken boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT true WHERE CASE WHEN overtaken.event LIKE 'monitor.%' THEN
    EXISTS (SELECT FROM transitions t WHERE t.monitor_id = overtaken.monitor_id
      AND t.sequence > (overtaken.message -> 'detail' ->> 'sequence')::integer)
    OR NOT EXISTS (SELECT FROM monitors m WHERE m.id = overtaken.monitor_id) END;
END;

-- STATISTICS ----------------------------------------------------------------------------------------------------------

-- The reports that a tenant has not got, of periods in the order given. It misses none of a period that ended before it
-- came, or before its first monitor did. Times are Unix seconds.
CREATE FUNCTION missing_reports(
  tenant_id text, tenant_created_at bigint, periods text[], starts bigint[], ends bigint[]
) RETURNS TABLE (ordinal bigint, period text, period_start bigint, period_end bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT w.ordinal, w.period, w.period_start, w.period_end
  FROM unnest(periods, starts, ends) WITH ORDINALITY AS w (period, period_start, period_end, ordinal)
  WHERE w.period_end > tenant_created_at
    AND NOT EXISTS (SELECT FROM reports r WHERE r.tenant_id = missing_reports.tenant_id AND r.period = w.period
      AND r.period_start = w.period_start)
    AND EXISTS (SELECT FROM monitors m WHERE m.tenant_id = missing_reports.tenant_id AND m.created_at < w.period_end);
END;
