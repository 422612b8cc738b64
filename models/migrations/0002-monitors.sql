-- `no` is the monitor's short name inside hot tables and queue payloads; `checks_version` grows with every change of what is
-- measured, so that a result of the old checks never counts towards a streak of the new ones.
-- `state` is the status with `unknown` told apart from `pending` (D-42: customers see both as pending); `state_since` is in Unix
-- milliseconds, `sequence` is that of the newest transition.
CREATE TABLE monitors (
  no                      integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  id                      text PRIMARY KEY,
  tenant_id               text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  name                    text NOT NULL,
  type                    text NOT NULL,
  target                  text NOT NULL DEFAULT '',
  interval_seconds        integer NOT NULL,
  timeout_ms              integer NOT NULL,
  method                  text,
  expected_status         text,
  body_match              text,
  follow_redirects        boolean NOT NULL,
  down_after_failures     smallint NOT NULL,
  up_after_successes      smallint NOT NULL,
  down_min_sources        smallint NOT NULL,
  heartbeat_grace_seconds integer,
  sla_target              double precision,
  check_spec              jsonb NOT NULL DEFAULT '{}',
  sealed_secrets          text,
  checks_version          integer NOT NULL DEFAULT 1,
  enabled                 boolean NOT NULL DEFAULT true,
  state                   text NOT NULL DEFAULT 'pending' CHECK (state IN ('up', 'down', 'degraded', 'paused', 'pending', 'unknown')),
  state_since             bigint NOT NULL,
  sequence                integer NOT NULL DEFAULT 0,
  created_at              bigint NOT NULL,
  updated_at              bigint NOT NULL
) WITH (fillfactor = 90);
CREATE INDEX monitors_tenant ON monitors (tenant_id, created_at, id);

-- One row per monitor and agent that watches it: where it stands in the agent's schedule, and the streaks of that source (D-40).
-- `phase` is null while the monitor is not scheduled (paused, draft, a type that is not probed by a schedule). `state` is the
-- source's state as core/source-state.ts keeps it; null = no result yet.
CREATE TABLE monitor_sources (
  monitor_no       integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  agent_no         integer NOT NULL REFERENCES agents (no) ON DELETE CASCADE,
  interval_seconds integer NOT NULL,
  phase            smallint,
  state            jsonb,
  PRIMARY KEY (monitor_no, agent_no)
) WITH (fillfactor = 80);
CREATE INDEX monitor_sources_schedule ON monitor_sources (agent_no, interval_seconds, phase) WHERE phase IS NOT NULL;

-- How many monitors stand in each phase of an agent's interval; a row with monitors > 0 has a job scheduler in the queue.
CREATE TABLE schedule_phases (
  agent_no         integer NOT NULL REFERENCES agents (no) ON DELETE CASCADE,
  interval_seconds integer NOT NULL,
  phase            smallint NOT NULL,
  monitors         integer NOT NULL CHECK (monitors >= 0),
  PRIMARY KEY (agent_no, interval_seconds, phase)
) WITH (fillfactor = 70);
