-- The schema of Spotcheck, room by room as in the folders of models/. Columns of time are Unix milliseconds unless
-- their table says seconds; `no` is a short number for hot tables and queue payloads, `id` is what customers see. What
-- comes after this file is added in files of its own: installations have applied this one, and its text stays as it is.

-- ACCOUNTS ------------------------------------------------------------------------------------------------------------

-- Accounts: they own everything but shared agents. Times are Unix seconds.
CREATE TABLE tenants (
  id         text PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  plan       text NOT NULL CHECK (plan IN ('free', 'solo', 'pro')),
  created_at bigint NOT NULL
);

-- People who sign in to the console. Times are Unix seconds.
CREATE TABLE users (
  id                  text PRIMARY KEY,
  tenant_id           text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  email               text NOT NULL UNIQUE,
  password_hash       text NOT NULL,
  is_operator         boolean NOT NULL DEFAULT false,
  created_at          bigint NOT NULL,
  name                text NOT NULL DEFAULT '',
  role                text NOT NULL DEFAULT 'owner' CHECK (role IN ('owner', 'editor', 'viewer')),
  theme               text NOT NULL DEFAULT 'system' CHECK (theme IN ('system', 'light', 'dark')),
  sealed_totp_secret  text,
  totp_confirmed_at   bigint,       -- null until the first code: the second factor is asked for from then on
  totp_step           bigint,       -- time step (RFC 6238) of the last code that was accepted: none is accepted twice
  password_changed_at bigint,       -- null while the password is the one that was handed out
  last_signed_in_at   bigint
);

-- Codes that stand in for a lost second factor, as SHA-256; a used one is deleted.
CREATE TABLE recovery_codes (
  user_id     text NOT NULL REFERENCES users ON DELETE CASCADE,
  fingerprint bytea NOT NULL,
  PRIMARY KEY (user_id, fingerprint)
);

-- Signed-in browsers; a session that has ended is deleted. Times are Unix seconds.
CREATE TABLE sessions (
  id           text PRIMARY KEY,
  user_id      text NOT NULL REFERENCES users ON DELETE CASCADE,
  fingerprint  bytea NOT NULL UNIQUE, -- SHA-256 of the 32 random bytes in the cookie
  created_at   bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  address      text,
  user_agent   text
);
CREATE INDEX sessions_user ON sessions (user_id, created_at, id);

-- Browsers and networks from which an account was signed in to: wrong passwords from elsewhere do not count against
-- them.
CREATE TABLE sign_in_places (
  account text NOT NULL,            -- a user's id, or `queue-board`, which has no user
  user_id text REFERENCES users ON DELETE CASCADE,
  -- `browser:` and the SHA-256 of its cookie, or `network:` and an IPv4 address or IPv6 /64
  place   text NOT NULL,
  seen_at bigint NOT NULL,          -- Unix seconds
  PRIMARY KEY (account, place)
);
CREATE INDEX sign_in_places_user ON sign_in_places (user_id);

-- Invitations of members. Times are Unix seconds.
CREATE TABLE invitations (
  id          text PRIMARY KEY,
  tenant_id   text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  email       text NOT NULL,
  role        text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
  fingerprint bytea NOT NULL UNIQUE, -- SHA-256 of the token in the link, which is shown once
  invited_by  text REFERENCES users ON DELETE SET NULL,
  created_at  bigint NOT NULL,
  expires_at  bigint NOT NULL,
  accepted_at bigint
);
CREATE INDEX invitations_tenant ON invitations (tenant_id, created_at, id);

-- API tokens, as SHA-256, so that a stolen table gives no access. Times are Unix seconds.
CREATE TABLE api_tokens (
  id           text PRIMARY KEY,
  tenant_id    text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  name         text NOT NULL,
  fingerprint  bytea NOT NULL UNIQUE,
  scopes       text[] NOT NULL,
  created_at   bigint NOT NULL,
  expires_at   bigint,
  revoked_at   bigint,
  last_used_at bigint
);
CREATE INDEX api_tokens_tenant ON api_tokens (tenant_id);

-- Every change, with its time and author, written in the transaction of the change. Names are those of that time:
-- entries outlive what they name. A null tenant: it concerns the whole installation.
CREATE TABLE audit_log (
  no          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id   text REFERENCES tenants ON DELETE CASCADE,
  at          bigint NOT NULL,      -- Unix seconds
  actor_kind  text NOT NULL CHECK (actor_kind IN ('user', 'token', 'operator', 'system')),
  actor_id    text,
  actor_name  text NOT NULL,
  action      text NOT NULL,
  object_kind text NOT NULL,
  object_id   text,
  object_name text,
  changes     json,                 -- {field: [before, after]}, secrets as "changed"
  address     text,
  id          text                  -- its name in the API: `no` would reveal how much other accounts do
);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, no);
CREATE INDEX audit_log_object ON audit_log (tenant_id, object_kind, object_id, no);
CREATE INDEX audit_log_time ON audit_log USING brin (at) WITH (pages_per_range = 32);

-- AGENTS --------------------------------------------------------------------------------------------------------------

-- Programs that measure; `service` is the service itself (domain, dns and vendor checks).
CREATE TABLE agents (
  no                integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  id                text PRIMARY KEY,
  tenant_id         text REFERENCES tenants ON DELETE CASCADE,
  kind              text NOT NULL CHECK (kind IN ('tenant', 'first_party', 'service')),
  name              text NOT NULL,
  region            text,
  capabilities      jsonb,
  version           text,
  arch              text,
  token_fingerprint bytea UNIQUE,   -- SHA-256 of a customer's agent's token
  revoked_at        bigint,         -- Unix seconds, as the next two
  last_seen_at      bigint,
  created_at        bigint NOT NULL,
  public_key        text,           -- X25519, base64; pinned at the first check-in: secrets are sealed to it
  -- why the newest check-in was given no secrets
  secrets_withheld  text CHECK (secrets_withheld IN ('no_key', 'other_key')),
  offline_at        bigint,         -- since when it counts as offline (D-56); null = it does not
  held_until        bigint,         -- until when its silence is held back because most agents fell silent
  behind_at         bigint,         -- when it last left out checks because there were more than it could run
  CHECK ((kind = 'tenant') = (tenant_id IS NOT NULL))
);
CREATE UNIQUE INDEX agents_shared_region ON agents (region) WHERE kind = 'first_party';
CREATE INDEX agents_tenant ON agents (tenant_id, created_at, id);
INSERT INTO agents (id, kind, name, created_at)
  VALUES ('agt_service', 'service', 'service', extract(epoch FROM now())::bigint);

-- MONITORS ------------------------------------------------------------------------------------------------------------

-- Watched targets with their settings and state: the row that decisions lock.
CREATE TABLE monitors (
  no                      integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  id                      text PRIMARY KEY,
  tenant_id               text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  name                    text NOT NULL,
  type                    text NOT NULL,
  target                  text NOT NULL DEFAULT '', -- empty: a draft
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
  -- grows with each change of what is measured: older results do not count towards its streaks
  checks_version          integer NOT NULL DEFAULT 1,
  enabled                 boolean NOT NULL DEFAULT true,
  -- customers see unknown and pending as one (D-42)
  state                   text NOT NULL DEFAULT 'pending'
    CHECK (state IN ('up', 'down', 'degraded', 'paused', 'pending', 'unknown')),
  state_since             bigint NOT NULL,
  sequence                integer NOT NULL DEFAULT 0, -- of the newest transition
  created_at              bigint NOT NULL,            -- Unix seconds, as the next
  updated_at              bigint NOT NULL,
  -- created before there was an agent: gets the default ones with the first that come
  awaits_sources          boolean NOT NULL DEFAULT false
) WITH (fillfactor = 90);
CREATE INDEX monitors_tenant ON monitors (tenant_id, created_at, id);
CREATE INDEX monitors_warned ON monitors (no) WHERE enabled AND check_spec ? 'domain';
CREATE INDEX monitors_awaiting ON monitors (no) WHERE awaits_sources;

-- CHECKS --------------------------------------------------------------------------------------------------------------

-- A monitor and an agent that watches it: its slot in the agent's schedule, and the streaks of that source (D-40).
CREATE TABLE monitor_sources (
  monitor_no       integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  agent_no         integer NOT NULL REFERENCES agents (no) ON DELETE CASCADE,
  interval_seconds integer NOT NULL,
  -- its slot; null while it is not scheduled: paused, a draft, a type without a schedule
  phase            smallint,
  state            jsonb,           -- the source's state (core/incidents); null = no result yet
  look_at          bigint,          -- recheck from this moment on, before the next tick; null = at the tick
  -- `checks_version` that a customer's agent was given last, when, and the one before: what earlier results measured
  given_version    integer,
  given_at         bigint,
  given_before     integer,
  -- was not counted in the last decision: once it counts again, decide again
  was_unheard      boolean NOT NULL DEFAULT false,
  seen             jsonb,           -- evidence of its first failures, for the incident that they may lead to
  asked_at         bigint,          -- when a recheck by a customer's agent was last requested, Unix seconds
  PRIMARY KEY (monitor_no, agent_no)
) WITH (fillfactor = 80);
CREATE INDEX monitor_sources_schedule ON monitor_sources (agent_no, interval_seconds, phase) WHERE phase IS NOT NULL;
CREATE INDEX monitor_sources_looks ON monitor_sources (agent_no, look_at) WHERE look_at IS NOT NULL;
CREATE INDEX monitor_sources_unheard ON monitor_sources (monitor_no) WHERE was_unheard;

-- How many monitors are in each slot of an agent's interval; a row with monitors > 0 has a job scheduler in the queue.
CREATE TABLE schedule_phases (
  agent_no         integer NOT NULL REFERENCES agents (no) ON DELETE CASCADE,
  interval_seconds integer NOT NULL,
  phase            smallint NOT NULL,
  monitors         integer NOT NULL CHECK (monitors >= 0),
  PRIMARY KEY (agent_no, interval_seconds, phase)
) WITH (fillfactor = 70);

-- Results by UTC day of `due_at`. Unique by monitor, source and due time: a job that runs again repeats probes, not
-- results. Eight columns at most, so that a null costs nothing.
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
-- written in the order of time
CREATE INDEX check_results_time ON check_results USING brin (due_at) WITH (pages_per_range = 32);
CREATE INDEX check_results_failures ON check_results (monitor_no, due_at) WHERE verdict <> 1;

-- The newest certificate that each source of an https monitor with an expiry warning was shown.
CREATE TABLE certificates (
  monitor_no integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  agent_no   integer NOT NULL REFERENCES agents (no) ON DELETE CASCADE,
  target     text NOT NULL,         -- of the monitor at that time
  name       text NOT NULL,
  expires_at bigint NOT NULL,       -- Unix seconds
  PRIMARY KEY (monitor_no, agent_no)
);

-- What registries answered about domains, shared by all monitors and processes.
CREATE TABLE domains (
  name            text PRIMARY KEY, -- in ASCII
  is_registered   boolean NOT NULL DEFAULT false,
  expires_at      bigint,           -- Unix seconds
  registrar       text,
  not_found_since bigint,
  answered_at     bigint,
  failures        smallint NOT NULL DEFAULT 0,
  failure         text,
  next_look_at    bigint NOT NULL DEFAULT 0, -- of the next lookup
  claimed_until   bigint NOT NULL DEFAULT 0  -- by the process that looks it up
);

-- The queue at each registry's server: one lookup at a time, until `held_until`; the next not before `free_at`. Losing
-- it costs a pause.
CREATE UNLOGGED TABLE registry_turns (
  server     text PRIMARY KEY,
  held_until bigint NOT NULL,
  free_at    bigint NOT NULL
);

-- IANA's registry of RDAP services as it was last read: one row.
CREATE TABLE rdap_bootstrap (
  only_one      boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  services      jsonb NOT NULL,     -- {"<top-level domain>": "<address>"}
  etag          text,
  last_modified text,
  checked_at    bigint NOT NULL
);

-- A cache of vendors' pages, each fetched once for all processes and monitors.
CREATE UNLOGGED TABLE vendor_pages (
  url              text PRIMARY KEY,
  snapshot         jsonb,
  etag             text,
  last_modified    text,
  fetched_at       bigint,
  asked_at         bigint,          -- when a monitor or a request last needed it
  latency_ms       integer,
  failure          jsonb,
  failures         smallint NOT NULL DEFAULT 0,
  retry_at         bigint,
  claimed_until    bigint,          -- by the process that fetches it
  -- the tenant whose limit it counts for where no monitor watches it: kept for an hour
  reader_tenant_id text
);
CREATE INDEX vendor_pages_asked ON vendor_pages (asked_at);

-- HEARTBEATS ----------------------------------------------------------------------------------------------------------

-- What a heartbeat waits for (D-29; docs/monitors.md). Settings are repeated here so that a ping reads one table only.
CREATE TABLE heartbeats (
  monitor_no           integer PRIMARY KEY REFERENCES monitors (no) ON DELETE CASCADE,
  token_fingerprint    bytea NOT NULL UNIQUE, -- SHA-256
  interval_seconds     integer NOT NULL,
  grace_seconds        integer NOT NULL,
  max_duration_seconds integer,
  fail_enabled         boolean NOT NULL,
  is_paused            boolean NOT NULL,
  verdict              text CHECK (verdict IN ('up', 'down')),
  heard_at             bigint NOT NULL,       -- of the newest ping, at first of the heartbeat's creation
  last_signal          text,
  due_at               bigint,
  overrun_at           bigint,
  run_started_at       bigint,
  -- null while paused, and from a miss to the next ping
  deadline_at          bigint GENERATED ALWAYS AS (least(due_at, overrun_at)) STORED,
  -- until when its pings use up the rows, and the bytes of bodies, that are kept at a steady rate
  rows_used_up         bigint,
  bytes_used_up        bigint
) WITH (fillfactor = 70);
CREATE INDEX heartbeats_deadline ON heartbeats (deadline_at) WHERE deadline_at IS NOT NULL;

-- Pings that can change a state and deadlines that passed, until the evaluator has committed what follows from them. It
-- refers to no table but heartbeats: a ping holds a lock there, and waits for no other.
CREATE TABLE heartbeat_observations (
  at          bigint NOT NULL,
  monitor_no  integer NOT NULL REFERENCES heartbeats ON DELETE CASCADE,
  sight       text NOT NULL CHECK (sight IN ('success', 'fail', 'exit', 'missed', 'overrun')),
  exit_status smallint,
  duration_ms bigint,
  first_line  text,
  PRIMARY KEY (at, monitor_no)
);

-- Every ping, by UTC day of `at`; kept when the monitor is deleted, until a chore has deleted those of
-- `orphaned_pings`.
CREATE TABLE heartbeat_pings (
  at          bigint NOT NULL,
  monitor_no  integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('success', 'start', 'fail', 'exit')),
  exit_status smallint,
  duration_ms bigint,
  body        text,
  PRIMARY KEY (monitor_no, at)
) PARTITION BY RANGE (at);
CREATE INDEX heartbeat_pings_time ON heartbeat_pings USING brin (at) WITH (pages_per_range = 32);

-- Heartbeats that were deleted and whose pings are not yet.
CREATE TABLE orphaned_pings (
  monitor_no integer PRIMARY KEY
);

-- INCIDENTS -----------------------------------------------------------------------------------------------------------

-- Changes of state, the only source of incidents, events and SLA (D-43); kept when the monitor is deleted.
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
CREATE INDEX transitions_tenant ON transitions (tenant_id, detected_at); -- alert storms
CREATE INDEX transitions_monitor_time ON transitions (monitor_id, at, sequence) INCLUDE (to_state); -- SLA

-- From the first transition away from up to its end; at most one of a monitor is open.
CREATE TABLE incidents (
  id              text PRIMARY KEY,
  tenant_id       text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  monitor_id      text NOT NULL,
  monitor_name    text NOT NULL,
  state           text NOT NULL CHECK (state IN ('down', 'degraded')),
  reason          text NOT NULL,
  sources_down    text[] NOT NULL,
  started_at      bigint NOT NULL,
  detected_at     bigint NOT NULL,
  resolved_at     bigint,
  resolution      text CHECK (resolution IN ('recovered', 'paused', 'deleted')),
  acknowledged_at bigint,
  acknowledged_by text,
  CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE UNIQUE INDEX incidents_open ON incidents (monitor_id) WHERE resolved_at IS NULL;
CREATE INDEX incidents_tenant ON incidents (tenant_id, started_at DESC, id DESC);
CREATE INDEX incidents_monitor ON incidents (monitor_id, started_at DESC, id DESC);

-- What each source measured at its first failure of each verdict, kept as long as the incident.
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
  seen        jsonb,                -- timings, and the answer's status, headers and first kilobyte where that is safe
  PRIMARY KEY (incident_id, agent_no, verdict)
);

-- Notes that people wrote at an incident.
CREATE TABLE incident_notes (
  id          text PRIMARY KEY,
  incident_id text NOT NULL REFERENCES incidents ON DELETE CASCADE,
  author      text NOT NULL,
  text        text NOT NULL,
  created_at  bigint NOT NULL
);
CREATE INDEX incident_notes_incident ON incident_notes (incident_id, created_at, id);

-- ALERTS --------------------------------------------------------------------------------------------------------------

-- Where customers are notified.
CREATE TABLE channels (
  id                    text PRIMARY KEY,
  tenant_id             text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  type                  text NOT NULL CHECK (type IN ('telegram', 'slack', 'webhook')),
  name                  text NOT NULL,
  enabled               boolean NOT NULL DEFAULT true,
  status                text NOT NULL CHECK (status IN ('connected', 'pending')),
  all_monitors          boolean NOT NULL DEFAULT true, -- false: those of channel_monitors
  url_host              text,
  team_name             text,
  channel_name          text,
  sealed_url            text,       -- a webhook's address; of Slack the incoming webhook that it gave us
  sealed_signing_secret text,
  created_at            bigint NOT NULL, -- Unix seconds
  chat_id               text,       -- Telegram's
  last_error            text,
  last_error_at         bigint,
  failures              integer NOT NULL DEFAULT 0, -- failed deliveries in a row, since `failing_since`
  failing_since         bigint,
  failing_told_at       bigint,     -- when the account's other channels were notified of that
  sealed_previous_secret text,      -- after a rotation it signs as well, until `previous_secret_until`
  previous_secret_until bigint,
  quiet_until           bigint,     -- a chat that asked for a pause is sent nothing before
  wants_reports         boolean NOT NULL DEFAULT false
);
CREATE INDEX channels_tenant ON channels (tenant_id, created_at, id);
CREATE INDEX channels_chat ON channels (chat_id) WHERE chat_id IS NOT NULL;

-- The monitors of channels that are not for all of them.
CREATE TABLE channel_monitors (
  channel_id text NOT NULL REFERENCES channels ON DELETE CASCADE,
  monitor_id text NOT NULL REFERENCES monitors ON DELETE CASCADE,
  PRIMARY KEY (channel_id, monitor_id)
);
CREATE INDEX channel_monitors_monitor ON channel_monitors (monitor_id);

-- Single-use codes of connect links (D-55), as SHA-256.
CREATE TABLE connect_codes (
  fingerprint bytea PRIMARY KEY,
  channel_id  text NOT NULL REFERENCES channels ON DELETE CASCADE,
  expires_at  bigint NOT NULL,      -- Unix seconds, as the next
  used_at     bigint
);

-- The outbox: one event to one channel, written in the transaction of its transition, so that no event is lost on its
-- way to the queue.
CREATE TABLE deliveries (
  id              text PRIMARY KEY,
  tenant_id       text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  channel_id      text NOT NULL REFERENCES channels ON DELETE CASCADE,
  monitor_id      text,
  event           text NOT NULL,
  -- the envelope without `sent_at`; json keeps the order of fields in which people read them
  message         json NOT NULL,
  outcome         text NOT NULL DEFAULT 'pending' CHECK (outcome IN ('pending', 'delivered', 'failed', 'superseded')),
  attempts        smallint NOT NULL DEFAULT 0,
  next_attempt_at bigint NOT NULL,
  claimed_until   bigint,
  created_at      bigint NOT NULL,
  finished_at     bigint,
  attempts_before smallint NOT NULL DEFAULT 0,        -- of earlier rounds of a delivery that was requested again
  -- per monitor the order of its transitions: written under the monitor's lock
  no              bigint GENERATED ALWAYS AS IDENTITY,
  -- a replayed delivery waits for the first attempt at the one before it in its replay
  after_id        text
);
-- a claim's order
CREATE INDEX deliveries_pending ON deliveries (channel_id, next_attempt_at, id) WHERE outcome = 'pending';
-- an earlier one of the same monitor
CREATE INDEX deliveries_order ON deliveries (channel_id, monitor_id, no) WHERE outcome = 'pending';
CREATE INDEX deliveries_channel ON deliveries (channel_id, created_at DESC, id DESC);
CREATE INDEX deliveries_failed ON deliveries (channel_id, created_at, id) WHERE outcome = 'failed';
-- those of an incident
CREATE INDEX deliveries_monitor ON deliveries (monitor_id, created_at, no) WHERE monitor_id IS NOT NULL;

-- Tries of a delivery. One without an outcome is under way, or its process died.
CREATE TABLE delivery_attempts (
  delivery_id text NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  attempt     smallint NOT NULL,
  started_at  bigint NOT NULL,
  duration_ms integer,
  outcome     text CHECK (outcome IN ('delivered', 'retry', 'failed')),
  status_code smallint,
  error       text,
  response    text,
  PRIMARY KEY (delivery_id, attempt)
);

-- Until when the deliveries of a tenant or a monitor use up what they may have at a steady rate. Losing it costs a
-- burst.
CREATE UNLOGGED TABLE delivery_rates (
  key     text PRIMARY KEY,
  used_up bigint NOT NULL
);

-- How many later changes of its monitor a delivery took in while it waited.
CREATE TABLE merged_deliveries (
  delivery_id text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  changes     integer NOT NULL
);

-- The newest summary of a chat: changes before its first attempt at `due_at` go into it.
CREATE TABLE summaries (
  channel_id  text PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
  delivery_id text NOT NULL,
  due_at      bigint NOT NULL
);

-- What a summary gathers, the newest state of each monitor; its attempt takes them over into the message.
CREATE TABLE summary_changes (
  delivery_id text NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  monitor_id  text NOT NULL,
  name        text NOT NULL,
  state       text NOT NULL CHECK (state IN ('up', 'degraded', 'down', 'unknown')),
  at          bigint NOT NULL,
  sequence    integer NOT NULL DEFAULT 0, -- of the transition: a monitor with a newer one is left out
  PRIMARY KEY (delivery_id, monitor_id)
);

-- Advisories that were sent, each once for an expiry.
CREATE TABLE advisories (
  monitor_no integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  subject    text NOT NULL CHECK (subject IN ('domain', 'certificate')),
  name       text NOT NULL,
  expires_at bigint NOT NULL,       -- Unix seconds
  threshold  smallint NOT NULL,     -- in days left
  said_at    bigint NOT NULL,
  PRIMARY KEY (monitor_no, subject, name, expires_at, threshold)
);

-- Where long polling of a Telegram bot continues, written with what its last update changed, so that a restart repeats
-- nothing.
CREATE TABLE telegram_polls (
  bot            text PRIMARY KEY,
  next_update_id bigint NOT NULL,
  at             bigint NOT NULL
);

-- Updates of a Telegram bot that were handled, written with what they changed: one that comes again changes nothing.
CREATE TABLE telegram_updates (
  bot       text   NOT NULL,
  update_id bigint NOT NULL,
  at        bigint NOT NULL,
  PRIMARY KEY (bot, update_id)
);

-- STATISTICS ----------------------------------------------------------------------------------------------------------

-- Checks of an hour by monitor and source; all statistics are made of them (docs/accounting.md). Histograms of hours,
-- days and sources add up exactly: latencies lie in buckets whose upper ends grow by 4 % each (core/statistics). By
-- month of `at`, the hour's first moment.
CREATE TABLE hourly_rollups (
  at         bigint NOT NULL,
  monitor_no integer NOT NULL,
  agent_no   integer NOT NULL,
  up         integer NOT NULL,
  degraded   integer NOT NULL,
  down       integer NOT NULL,
  none       integer NOT NULL,
  buckets    smallint[] NOT NULL,   -- those that are not empty, ascending, of checks that were up or degraded
  counts     integer[] NOT NULL,    -- how many checks are in each of them
  -- for each step of those checks its summed milliseconds, and in how many of them it happened
  phases     integer[],
  PRIMARY KEY (monitor_no, agent_no, at)
) PARTITION BY RANGE (at);
CREATE INDEX hourly_rollups_time ON hourly_rollups USING brin (at) WITH (pages_per_range = 32);

-- The same by UTC day, made of the hours. They are written day by day and read for one monitor over months: the index
-- holds whole rows, so that ninety days are a handful of pages.
CREATE TABLE daily_rollups (
  LIKE hourly_rollups,
  PRIMARY KEY (monitor_no, agent_no, at) INCLUDE (up, degraded, down, none, buckets, counts, phases)
) PARTITION BY RANGE (at);

-- Hours of a source for which a result came after the roll-up, written in its transaction: they are made again.
CREATE TABLE late_hours (
  at         bigint NOT NULL,
  monitor_no integer NOT NULL,
  agent_no   integer NOT NULL,
  PRIMARY KEY (at, monitor_no, agent_no)
);

-- Hours of a source whose roll-up failed: they are tried again later and later, while all others go on.
CREATE TABLE set_aside_hours (
  at         bigint NOT NULL,
  monitor_no integer NOT NULL,
  agent_no   integer NOT NULL,
  attempts   integer NOT NULL,
  retry_at   bigint NOT NULL,
  PRIMARY KEY (at, monitor_no, agent_no)
);

-- Intervals in which the service itself stood still: unknown in every SLA. `ended_at` is null while it lasts.
CREATE TABLE service_gaps (
  no         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('clock', 'checks', 'evaluation')),
  started_at bigint NOT NULL,
  ended_at   bigint,
  CHECK (ended_at IS NULL OR ended_at >= started_at)
);
CREATE UNIQUE INDEX service_gaps_open ON service_gaps (kind) WHERE ended_at IS NULL;
CREATE INDEX service_gaps_time ON service_gaps (started_at, no);

-- Intervals in which a monitor was unknown because our own locations had more checks than they could run: nobody is
-- notified of them.
CREATE TABLE unchecked_times (
  monitor_id text NOT NULL,
  sequence   integer NOT NULL,      -- of the transition to unknown
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

-- Service gaps of the kind `overload`, each from the first of those intervals to the last that overlaps. Apart from
-- service_gaps, which count for all monitors; `no` orders both.
CREATE TABLE overload_gaps (
  no         bigint PRIMARY KEY DEFAULT nextval(pg_get_serial_sequence('service_gaps', 'no')),
  started_at bigint NOT NULL,
  ended_at   bigint
);
CREATE UNIQUE INDEX overload_gaps_open ON overload_gaps ((true)) WHERE ended_at IS NULL;
CREATE INDEX overload_gaps_time ON overload_gaps (started_at, no);

-- Weekly and monthly reports, each made once.
CREATE TABLE reports (
  id           text PRIMARY KEY,
  tenant_id    text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  period       text NOT NULL CHECK (period IN ('week', 'month')),
  period_start bigint NOT NULL,     -- Unix seconds, as the next two
  period_end   bigint NOT NULL,
  created_at   bigint NOT NULL,
  content      json NOT NULL,       -- json keeps the order of fields in which people read them
  details      json,                -- days, incidents and gaps, which lists do not read; null in reports made without
  UNIQUE (tenant_id, period, period_start)
);

-- SYSTEM --------------------------------------------------------------------------------------------------------------

-- When a duty of the service was last done, one row a name: tells our own standstill from silence of the sources.
CREATE TABLE service_marks (
  name             text PRIMARY KEY,
  at               bigint NOT NULL,
  resumed_at       bigint NOT NULL,
  interval_seconds integer,         -- of `due`: since `at` checks of this interval or less have been due
  -- of `pings`: since when, and until when, pings came that could not be stored and were not made good
  lost_from        bigint,
  lost_to          bigint
);

-- Processes at work, each updated every few seconds, for operators. Nothing depends on it. Times are Unix seconds.
CREATE UNLOGGED TABLE processes (
  id         text PRIMARY KEY,
  kind       text NOT NULL,
  version    text NOT NULL,
  host       text NOT NULL,
  pid        integer NOT NULL,
  figures    json,                  -- how late its checks began, and how far behind its evaluation was
  started_at bigint NOT NULL,
  seen_at    bigint NOT NULL
);

-- Counters of the rate limit of requests without Redis. Losing them costs a minute of counting.
CREATE UNLOGGED TABLE rate_limits (
  key    varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);

-- Live updates: after a commit each change that customers can see is on the channel `spotcheck_changes` as `<tenant>
-- <kind> <id>`, once per transaction; `*` stands for all tenants. The tables send it themselves, so that no way to
-- change them is forgotten.
CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(
    'spotcheck_changes',
    coalesce(NEW.tenant_id, OLD.tenant_id, '*') || ' ' || TG_ARGV[0] || ' ' || coalesce(NEW.id, OLD.id)
  );
  RETURN NULL;
END $$;

CREATE TRIGGER monitors_tell_new AFTER INSERT OR DELETE ON monitors FOR EACH ROW
  EXECUTE FUNCTION tell_change('monitor');
CREATE TRIGGER monitors_tell_change AFTER UPDATE ON monitors FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION tell_change('monitor');

-- Not for incidents that retention deletes.
CREATE TRIGGER incidents_tell_new AFTER INSERT ON incidents FOR EACH ROW
  EXECUTE FUNCTION tell_change('incident');
CREATE TRIGGER incidents_tell_change AFTER UPDATE ON incidents FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION tell_change('incident');

-- Without the columns that a channel counts for itself with each failed delivery.
CREATE TRIGGER channels_tell_new AFTER INSERT OR DELETE ON channels FOR EACH ROW
  EXECUTE FUNCTION tell_change('channel');
CREATE TRIGGER channels_tell_change AFTER UPDATE ON channels FOR EACH ROW
  WHEN (
    (OLD.name, OLD.enabled, OLD.status, OLD.all_monitors, OLD.wants_reports, OLD.url_host, OLD.team_name,
     OLD.channel_name, OLD.last_error)
    IS DISTINCT FROM
    (NEW.name, NEW.enabled, NEW.status, NEW.all_monitors, NEW.wants_reports, NEW.url_host, NEW.team_name,
     NEW.channel_name, NEW.last_error)
  )
  EXECUTE FUNCTION tell_change('channel');

-- Without `last_seen_at`, which changes several times a second.
CREATE TRIGGER agents_tell_new AFTER INSERT OR DELETE ON agents FOR EACH ROW
  EXECUTE FUNCTION tell_change('agent');
CREATE TRIGGER agents_tell_change AFTER UPDATE ON agents FOR EACH ROW
  WHEN (
    (OLD.name, OLD.region, OLD.capabilities, OLD.version, OLD.arch, OLD.offline_at, OLD.revoked_at)
    IS DISTINCT FROM
    (NEW.name, NEW.region, NEW.capabilities, NEW.version, NEW.arch, NEW.offline_at, NEW.revoked_at)
  )
  EXECUTE FUNCTION tell_change('agent');
