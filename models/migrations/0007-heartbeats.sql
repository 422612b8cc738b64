-- What a heartbeat waits for (D-29), one row a monitor; core/heartbeat.ts says what its columns mean. Settings are repeated here so that a ping
-- looks at one table only. A token is known by its fingerprint (SHA-256), as API tokens are. `deadline_at` is null where nothing is waited for:
-- while the monitor is paused, and after a missed deadline until the next ping. Times are Unix milliseconds.
CREATE TABLE heartbeats (
  monitor_no           integer PRIMARY KEY REFERENCES monitors (no) ON DELETE CASCADE,
  token_fingerprint    bytea NOT NULL UNIQUE,
  interval_seconds     integer NOT NULL,
  grace_seconds        integer NOT NULL,
  max_duration_seconds integer,
  fail_enabled         boolean NOT NULL,
  is_paused            boolean NOT NULL,
  verdict              text CHECK (verdict IN ('up', 'down')),
  heard_at             bigint NOT NULL,
  last_signal          text,
  due_at               bigint,
  overrun_at           bigint,
  run_started_at       bigint,
  deadline_at          bigint GENERATED ALWAYS AS (least(due_at, overrun_at)) STORED
) WITH (fillfactor = 70);
CREATE INDEX heartbeats_deadline ON heartbeats (deadline_at) WHERE deadline_at IS NOT NULL;

-- What was seen of heartbeats and is not decided yet: pings that can change a state, deadlines that passed. A row leaves when the evaluator
-- has committed what follows from it. It may refer to no table but heartbeats: a ping holds a lock there, and waits for no other.
CREATE TABLE heartbeat_observations (
  at          bigint NOT NULL,
  monitor_no  integer NOT NULL REFERENCES heartbeats ON DELETE CASCADE,
  sight       text NOT NULL CHECK (sight IN ('success', 'fail', 'exit', 'missed', 'overrun')),
  exit_status smallint,
  duration_ms bigint,
  first_line  text,
  PRIMARY KEY (at, monitor_no)
);

-- Every ping, partitioned by UTC days of `at`; kept when the monitor is deleted, as results are.
CREATE TABLE heartbeat_pings (
  at          bigint NOT NULL,
  monitor_no  integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('success', 'start', 'fail', 'exit')),
  exit_status smallint,
  duration_ms bigint,
  body        text,
  PRIMARY KEY (monitor_no, at)
) PARTITION BY RANGE (at);

-- Heartbeats made before pings were taken get the form of token that names its monitor, and their first deadline counts from now.
UPDATE monitors SET check_spec = jsonb_set(check_spec, '{heartbeat,token}', to_jsonb(id || '.' || (check_spec #>> '{heartbeat,token}'))) WHERE type = 'heartbeat';
INSERT INTO heartbeats (monitor_no, token_fingerprint, interval_seconds, grace_seconds, max_duration_seconds, fail_enabled, is_paused, heard_at, due_at)
SELECT no, sha256(convert_to(check_spec #>> '{heartbeat,token}', 'UTF8')), interval_seconds, coalesce(heartbeat_grace_seconds, 60),
       (check_spec #>> '{heartbeat,maxDurationSeconds}')::integer, coalesce((check_spec #>> '{heartbeat,failEnabled}')::boolean, true), NOT enabled,
       (extract(epoch FROM now()) * 1000)::bigint,
       CASE WHEN enabled THEN ((extract(epoch FROM now()) + interval_seconds + coalesce(heartbeat_grace_seconds, 60)) * 1000)::bigint END
FROM monitors WHERE type = 'heartbeat';
