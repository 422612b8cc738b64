-- Times in which a monitor was unknown because our own locations had more checks than they could run: nobody is notified of their begin, nor of
-- their end where the monitor is then what it was before (`from_state`). `sequence` is that of the transition to unknown; `ended_at` is null while it
-- lasts. Unix milliseconds.
CREATE TABLE unchecked_times (
  monitor_id text NOT NULL,
  sequence   integer NOT NULL,
  monitor_no integer NOT NULL,
  tenant_id  text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  from_state text NOT NULL,
  started_at bigint NOT NULL,
  ended_at   bigint,
  PRIMARY KEY (monitor_id, sequence)
);
CREATE INDEX unchecked_times_time ON unchecked_times (started_at);
CREATE INDEX unchecked_times_open ON unchecked_times (monitor_no) WHERE ended_at IS NULL;
CREATE INDEX unchecked_times_tenant ON unchecked_times (tenant_id, started_at);

-- Service gaps of the kind `overload`: from the first of those times to the last one that overlaps. In a table of its own because they count only
-- for the monitors above, and everything in service_gaps counts for all. `no` orders them among those.
CREATE TABLE overload_gaps (
  no         bigint PRIMARY KEY DEFAULT nextval(pg_get_serial_sequence('service_gaps', 'no')),
  started_at bigint NOT NULL,
  ended_at   bigint
);
CREATE UNIQUE INDEX overload_gaps_open ON overload_gaps ((true)) WHERE ended_at IS NULL;
CREATE INDEX overload_gaps_time ON overload_gaps (started_at, no);
