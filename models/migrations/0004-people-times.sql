-- How the console shows times to a person (D-445): zone and clock are the browser's until they choose.
ALTER TABLE users
  ADD COLUMN time_zone text NOT NULL DEFAULT 'browser',
  ADD COLUMN clock text NOT NULL DEFAULT 'browser';
ALTER TABLE users
  ADD CONSTRAINT users_time_zone_check CHECK (length(time_zone) BETWEEN 1 AND 64) NOT VALID,
  ADD CONSTRAINT users_clock_check CHECK (clock IN ('browser', '12h', '24h')) NOT VALID;

-- How many bad checks in a row make a source bad. A heartbeat is down at the first ping missed (D-29), and a domain's
-- date was looked up: a second check would read the same answer an hour later (D-446). Takes the place of
-- `failures_until_down`, which the release before still asks.
CREATE FUNCTION failures_until_bad(monitor monitors) RETURNS integer LANGUAGE sql STABLE
  RETURN CASE WHEN monitor.type IN ('heartbeat', 'domain') THEN 1 ELSE monitor.down_after_failures END;
