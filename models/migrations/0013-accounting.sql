-- What came of the checks of an hour, by monitor and source: all that statistics of any age are made of. `at` is the hour's first
-- moment in Unix milliseconds. Latencies lie in buckets whose upper ends grow by 4 % each (core/latency-histogram.ts), as two arrays of
-- the buckets that hold something, in ascending order, and what they hold: histograms of hours, days and sources add up exactly.
-- Those and `phases` are of the checks that were up or degraded: `phases` has two places for each phase (models/raw-checks.ts), its summed
-- milliseconds and in how many checks it happened, of those whose phases were kept.
CREATE TABLE hourly_rollups (
  at         bigint NOT NULL,
  monitor_no integer NOT NULL,
  agent_no   integer NOT NULL,
  up         integer NOT NULL,
  degraded   integer NOT NULL,
  down       integer NOT NULL,
  none       integer NOT NULL,
  buckets    smallint[] NOT NULL,
  counts     integer[] NOT NULL,
  phases     integer[],
  PRIMARY KEY (monitor_no, agent_no, at)
) PARTITION BY RANGE (at);

-- The same by UTC day, made of the hours. Days are written one after the other for all monitors, and read for one monitor over months: its index
-- holds the whole rows, so that those lie together and ninety days are a handful of pages instead of ninety.
CREATE TABLE daily_rollups (
  LIKE hourly_rollups,
  PRIMARY KEY (monitor_no, agent_no, at) INCLUDE (up, degraded, down, none, buckets, counts, phases)
) PARTITION BY RANGE (at);

-- How far checks are rolled up is the mark `rollups` of service_marks. What an hour or a day is made of lies together, because it was written
-- in the order of its time: a few bytes for each stretch of the table find it.
CREATE INDEX check_results_time ON check_results USING brin (due_at) WITH (pages_per_range = 32);
CREATE INDEX heartbeat_pings_time ON heartbeat_pings USING brin (at) WITH (pages_per_range = 32);
CREATE INDEX hourly_rollups_time ON hourly_rollups USING brin (at) WITH (pages_per_range = 32);

-- Results that came after their hour was rolled up, or while it might have been: that hour of that source is made anew. Written with the
-- results, in one transaction.
CREATE TABLE late_hours (
  at         bigint NOT NULL,
  monitor_no integer NOT NULL,
  agent_no   integer NOT NULL,
  PRIMARY KEY (at, monitor_no, agent_no)
);

-- Stretches in which we ourselves stood still; `ended_at` is null while it lasts. They count as unknown in everyone's SLA.
CREATE TABLE service_gaps (
  no         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('clock', 'checks', 'evaluation')),
  started_at bigint NOT NULL,
  ended_at   bigint,
  CHECK (ended_at IS NULL OR ended_at >= started_at)
);
CREATE UNIQUE INDEX service_gaps_open ON service_gaps (kind) WHERE ended_at IS NULL;
CREATE INDEX service_gaps_time ON service_gaps (started_at, no);

-- More marks: `checks` and `evaluation` are when a check and a batch of results were newly seen through; `due` is since when checks of
-- `interval_seconds` or less have been due, null while none are. Together they tell our own stand-still from there being nothing to do.
ALTER TABLE service_marks ADD COLUMN interval_seconds integer;

-- What each source saw at its first failure of each verdict, kept for as long as the incident. `seen` is what core/seen-failure.ts describes: the
-- phases, and the answer's status, headers and first kilobyte where that is safe.
CREATE TABLE incident_evidence (
  incident_id text NOT NULL REFERENCES incidents ON DELETE CASCADE,
  agent_no    integer NOT NULL,
  source_id   text NOT NULL,
  source_name text NOT NULL,
  at          bigint NOT NULL,
  verdict     text NOT NULL CHECK (verdict IN ('down', 'degraded')),
  cause       text,
  reason      text,
  http_status smallint,
  latency_ms  integer,
  seen        jsonb,
  PRIMARY KEY (incident_id, agent_no, verdict)
);

-- What a source saw at the first failures that its state knows of, by gauge (`failing`, `impaired`), with their due time: for the incident that
-- they may lead to. Not in `state`, which is read with every result.
ALTER TABLE monitor_sources ADD COLUMN seen jsonb;

ALTER TABLE incidents ADD COLUMN acknowledged_at bigint, ADD COLUMN acknowledged_by text;

CREATE TABLE incident_notes (
  id          text PRIMARY KEY,
  incident_id text NOT NULL REFERENCES incidents ON DELETE CASCADE,
  author      text NOT NULL,
  text        text NOT NULL,
  created_at  bigint NOT NULL
);
CREATE INDEX incident_notes_incident ON incident_notes (incident_id, created_at, id);

-- What was sent of an incident is found by its monitor and when.
CREATE INDEX deliveries_monitor ON deliveries (monitor_id, created_at, no) WHERE monitor_id IS NOT NULL;

-- Chats that want the summary of a report.
ALTER TABLE channels ADD COLUMN wants_reports boolean NOT NULL DEFAULT false;

-- The SLA of a monitor reads its transitions by time.
CREATE INDEX transitions_monitor_time ON transitions (monitor_id, at, sequence) INCLUDE (to_state);

-- What was not up is rare, and is what is asked for.
CREATE INDEX check_results_failures ON check_results (monitor_no, due_at) WHERE verdict <> 1;

-- json keeps fields in the order in which people read them. `details` is what only the read of one report shows, so that a list need not read
-- it: the days of each monitor, the incidents, and our own gaps. Null in reports that were made without.
ALTER TABLE reports ALTER COLUMN content TYPE json, ADD COLUMN details json;
