-- Maintenance windows: planned work, during which checks go on and people are not paged.

-- What customers plan. `starts_at` and the other moments are Unix seconds; `planned_until` is in milliseconds.
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
  cron             text,            -- at most one of both; neither: it takes place once
  rrule            text,
  alerts           text NOT NULL CHECK (alerts IN ('hold', 'drop', 'send')),
  sla              text NOT NULL CHECK (sla IN ('exclude', 'count')),
  settle_seconds   integer NOT NULL CHECK (settle_seconds >= 0),
  planned_until    bigint NOT NULL, -- occurrences that begin before it are rows
  has_more         boolean NOT NULL, -- whether any begins after it
  created_at       bigint NOT NULL,
  updated_at       bigint NOT NULL,
  UNIQUE (tenant_id, key)
);
CREATE INDEX maintenance_windows_tenant ON maintenance_windows (tenant_id, created_at, id);
CREATE INDEX maintenance_windows_planned ON maintenance_windows (planned_until) WHERE has_more;

-- When windows take place, to the millisecond, with what they meant then: a change or deletion of a window leaves its
-- past. Nothing computes it again.
CREATE TABLE maintenance_occurrences (
  no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  window_id      text NOT NULL,
  tenant_id      text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  window_name    text NOT NULL,
  local_start    text NOT NULL,     -- in the window's zone
  starts_at      bigint NOT NULL,
  ends_at        bigint NOT NULL CHECK (ends_at >= starts_at),
  is_skipped     boolean NOT NULL DEFAULT false,
  all_monitors   boolean NOT NULL,
  monitor_ids    text[] NOT NULL,
  tags           text[] NOT NULL,
  alerts         text NOT NULL,
  sla            text NOT NULL,
  settle_seconds integer NOT NULL,
  -- what of it was in the past when it was made, or was added after it had begun
  retroactive    int8multirange NOT NULL DEFAULT '{}',
  covered_at     bigint,            -- since when its monitors are in maintenance_times
  UNIQUE (window_id, starts_at)
);
CREATE INDEX maintenance_occurrences_uncovered ON maintenance_occurrences (starts_at) WHERE covered_at IS NULL;
CREATE INDEX maintenance_occurrences_end ON maintenance_occurrences (ends_at);
CREATE INDEX maintenance_occurrences_tenant ON maintenance_occurrences (tenant_id, starts_at);

-- The monitors of an occurrence, each with when it is in maintenance: written shortly before it begins, and kept in step
-- with their tags until it ends. Alerts, reads and the SLA know maintenance from here alone.
CREATE TABLE maintenance_times (
  monitor_no    integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  occurrence_no bigint NOT NULL REFERENCES maintenance_occurrences ON DELETE CASCADE,
  started_at    bigint NOT NULL,
  ended_at      bigint NOT NULL,
  PRIMARY KEY (monitor_no, occurrence_no, started_at)
);
CREATE INDEX maintenance_times_occurrence ON maintenance_times (occurrence_no);
