-- Maintenance windows: planned work, during which checks go on and people are not paged.

-- What customers plan. `starts_at` and the other moments are Unix seconds.
CREATE TABLE maintenance_windows (
  id               text PRIMARY KEY,
  tenant_id        text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  key              text,            -- chosen by the customer: a second creation with it makes no second window
  name             text NOT NULL,
  description      text NOT NULL,
  all_monitors     boolean NOT NULL,
  monitor_ids      text[] NOT NULL,
  tags             text[] NOT NULL, -- monitors with any of them
  local_start      text,            -- as it was given in local time, `2026-11-30T02:00`; null where a moment was
  timezone         text NOT NULL,
  starts_at        bigint NOT NULL,
  duration_seconds integer NOT NULL CHECK (duration_seconds > 0),
  alerts           text NOT NULL CHECK (alerts IN ('hold', 'drop', 'send')),
  sla              text NOT NULL CHECK (sla IN ('exclude', 'count')),
  settle_seconds   integer NOT NULL CHECK (settle_seconds >= 0),
  created_at       bigint NOT NULL,
  updated_at       bigint NOT NULL,
  UNIQUE (tenant_id, key)
);
CREATE INDEX maintenance_windows_tenant ON maintenance_windows (tenant_id, created_at, id);

-- When windows take place, to the millisecond, with what they meant then: deleting a window leaves its past. A window
-- is looked up nowhere else.
CREATE TABLE maintenance_occurrences (
  no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  window_id      text NOT NULL,
  tenant_id      text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  window_name    text NOT NULL,
  local_start    text NOT NULL,     -- the start that was planned, which names the occurrence
  starts_at      bigint NOT NULL,
  ends_at        bigint NOT NULL CHECK (ends_at >= starts_at),
  all_monitors   boolean NOT NULL DEFAULT false,
  monitor_ids    text[] NOT NULL DEFAULT '{}',
  tags           text[] NOT NULL DEFAULT '{}',
  alerts         text NOT NULL,
  sla            text NOT NULL,
  settle_seconds integer NOT NULL,
  -- what of it was in the past when it was made, or was added after it had begun
  retroactive    int8multirange NOT NULL DEFAULT '{}',
  covered_at     bigint,            -- since when its monitors are in maintenance_times
  UNIQUE (window_id, local_start)
);
CREATE INDEX maintenance_occurrences_end ON maintenance_occurrences (ends_at);
CREATE INDEX maintenance_occurrences_tenant ON maintenance_occurrences (tenant_id, starts_at);

-- The monitors of an occurrence, each with when it is in maintenance: written shortly before it begins, and kept in step
-- with their tags until it ends. Alerts, reads and the SLA know maintenance from here alone.
CREATE TABLE maintenance_times (
  monitor_no    integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  occurrence_no bigint NOT NULL REFERENCES maintenance_occurrences ON DELETE CASCADE,
  started_at    bigint NOT NULL,
  ended_at      bigint NOT NULL,
  PRIMARY KEY (monitor_no, occurrence_no)
);
CREATE INDEX maintenance_times_occurrence ON maintenance_times (occurrence_no);

-- The maintenance that a monitor is in at this moment, the one that ends last; null for none.
CREATE FUNCTION current_maintenance(monitor_no integer) RETURNS json LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT json_build_object('window_id', o.window_id, 'ends_at', t.ended_at / 1000)
  FROM maintenance_times t JOIN maintenance_occurrences o ON o.no = t.occurrence_no
  WHERE t.monitor_no = current_maintenance.monitor_no
    AND t.started_at <= (extract(epoch FROM now()) * 1000)::bigint
    AND t.ended_at > (extract(epoch FROM now()) * 1000)::bigint
  ORDER BY t.ended_at DESC LIMIT 1;
END;
