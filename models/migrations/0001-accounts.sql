-- Tenants own everything; tokens are kept as fingerprints only (SHA-256), so a stolen table opens no door.
CREATE TABLE tenants (
  id         text PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  plan       text NOT NULL CHECK (plan IN ('free', 'solo', 'pro')),
  created_at bigint NOT NULL
);

CREATE TABLE users (
  id            text PRIMARY KEY,
  tenant_id     text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  email         text NOT NULL UNIQUE,
  password_hash text NOT NULL,
  is_operator   boolean NOT NULL DEFAULT false,
  created_at    bigint NOT NULL
);

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

-- Counters of the request limit when there is no Redis: losing them in a crash costs a minute of counting, so no WAL.
CREATE UNLOGGED TABLE rate_limits (
  key    varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);

-- An agent is a place that measures. `no` is its short name inside hot tables; `service` is the service itself (domain, dns, vendor checks).
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
  token_fingerprint bytea UNIQUE,
  revoked_at        bigint,
  last_seen_at      bigint,
  created_at        bigint NOT NULL,
  CHECK ((kind = 'tenant') = (tenant_id IS NOT NULL))
);
CREATE UNIQUE INDEX agents_shared_region ON agents (region) WHERE kind = 'first_party';
CREATE INDEX agents_tenant ON agents (tenant_id, created_at, id);
INSERT INTO agents (id, kind, name, created_at) VALUES ('agt_service', 'service', 'service', extract(epoch FROM now())::bigint);
