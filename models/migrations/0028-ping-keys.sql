-- The key by which an account's heartbeats are pinged by their slugs, and made by their first ping (D-557). It is sealed
-- as other secrets are, to be shown again; pings are looked up by its SHA-256.
CREATE TABLE ping_keys (
  id          text PRIMARY KEY,
  tenant_id   text NOT NULL UNIQUE REFERENCES tenants (id) ON DELETE CASCADE,
  fingerprint bytea NOT NULL UNIQUE,
  sealed_key  text NOT NULL,
  created_at  bigint NOT NULL -- Unix seconds
);

-- The heartbeats that were made by a ping, by the slug that it named.
CREATE TABLE heartbeat_slugs (
  tenant_id  text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  slug       text NOT NULL,
  monitor_no integer NOT NULL UNIQUE REFERENCES monitors (no) ON DELETE CASCADE,
  PRIMARY KEY (tenant_id, slug)
);
