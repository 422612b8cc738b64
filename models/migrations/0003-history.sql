-- A result is unique by monitor, source and due time: a job that runs again after a crash repeats probes, not results.
-- Eight columns at most, so that a null costs nothing; times are Unix milliseconds, partitions are UTC days of `due_at`.
CREATE TABLE check_results (
  due_at      bigint NOT NULL,
  monitor_no  integer NOT NULL,
  agent_no    integer NOT NULL,
  latency_ms  integer,
  http_status smallint,
  verdict     smallint NOT NULL,
  cause       smallint,
  detail      jsonb,
  PRIMARY KEY (monitor_no, agent_no, due_at)
) PARTITION BY RANGE (due_at);

-- The only source of incidents, events and SLA (D-43); kept when the monitor is deleted.
CREATE TABLE transitions (
  monitor_id  text NOT NULL,
  sequence    integer NOT NULL,
  tenant_id   text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  from_state  text NOT NULL,
  to_state    text NOT NULL,
  at          bigint NOT NULL,
  detected_at bigint NOT NULL,
  cause       text,
  reason      text,
  evidence    jsonb NOT NULL,
  PRIMARY KEY (monitor_id, sequence)
);

CREATE TABLE incidents (
  id           text PRIMARY KEY,
  tenant_id    text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  monitor_id   text NOT NULL,
  monitor_name text NOT NULL,
  state        text NOT NULL CHECK (state IN ('down', 'degraded')),
  reason       text NOT NULL,
  sources_down text[] NOT NULL,
  started_at   bigint NOT NULL,
  detected_at  bigint NOT NULL,
  resolved_at  bigint,
  resolution   text CHECK (resolution IN ('recovered', 'paused', 'deleted')),
  CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE UNIQUE INDEX incidents_open ON incidents (monitor_id) WHERE resolved_at IS NULL;
CREATE INDEX incidents_tenant ON incidents (tenant_id, started_at DESC, id DESC);
CREATE INDEX incidents_monitor ON incidents (monitor_id, started_at DESC, id DESC);

CREATE TABLE reports (
  id           text PRIMARY KEY,
  tenant_id    text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  period       text NOT NULL CHECK (period IN ('week', 'month')),
  period_start bigint NOT NULL,
  period_end   bigint NOT NULL,
  created_at   bigint NOT NULL,
  content      jsonb NOT NULL,
  UNIQUE (tenant_id, period, period_start)
);

-- Marks of the service's own doings, one row a name: `sweep` is when statuses were last swept, so that a stretch in which we
-- stood still is never read as silence of the sources.
CREATE TABLE service_marks (
  name       text PRIMARY KEY,
  at         bigint NOT NULL,
  resumed_at bigint NOT NULL
);
