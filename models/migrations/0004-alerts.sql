CREATE TABLE channels (
  id                    text PRIMARY KEY,
  tenant_id             text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  type                  text NOT NULL CHECK (type IN ('telegram', 'slack', 'webhook')),
  name                  text NOT NULL,
  enabled               boolean NOT NULL DEFAULT true,
  status                text NOT NULL CHECK (status IN ('connected', 'pending')),
  all_monitors          boolean NOT NULL DEFAULT true,
  url_host              text,
  team_name             text,
  channel_name          text,
  sealed_url            text,
  sealed_signing_secret text,
  created_at            bigint NOT NULL
);
CREATE INDEX channels_tenant ON channels (tenant_id, created_at, id);

CREATE TABLE channel_monitors (
  channel_id text NOT NULL REFERENCES channels ON DELETE CASCADE,
  monitor_id text NOT NULL REFERENCES monitors ON DELETE CASCADE,
  PRIMARY KEY (channel_id, monitor_id)
);
CREATE INDEX channel_monitors_monitor ON channel_monitors (monitor_id);

-- Single-use codes of the connect links (D-55), as fingerprints.
CREATE TABLE connect_codes (
  fingerprint bytea PRIMARY KEY,
  channel_id  text NOT NULL REFERENCES channels ON DELETE CASCADE,
  expires_at  bigint NOT NULL,
  used_at     bigint
);

-- One event to one channel. Written in the transaction of its transition (the outbox), so that an event cannot be lost between
-- the database and the queue. `message` is the envelope without what each attempt makes anew (`sent_at`); json, not jsonb, keeps its fields in the order in which people read them.
CREATE TABLE deliveries (
  id              text PRIMARY KEY,
  tenant_id       text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  channel_id      text NOT NULL REFERENCES channels ON DELETE CASCADE,
  monitor_id      text,
  event           text NOT NULL,
  message         json NOT NULL,
  outcome         text NOT NULL DEFAULT 'pending' CHECK (outcome IN ('pending', 'delivered', 'failed')),
  attempts        smallint NOT NULL DEFAULT 0,
  next_attempt_at bigint NOT NULL,
  claimed_until   bigint,
  created_at      bigint NOT NULL,
  finished_at     bigint
);
CREATE INDEX deliveries_pending ON deliveries (next_attempt_at) WHERE outcome = 'pending';
CREATE INDEX deliveries_channel ON deliveries (channel_id, created_at DESC, id DESC);

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
