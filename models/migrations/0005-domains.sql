-- What registries said of domains, shared by every monitor and process; `name` is in ASCII, `expires_at` in Unix seconds, all other times are
-- Unix milliseconds. Whoever looks a domain up holds it until `claimed_until`.
CREATE TABLE domains (
  name            text PRIMARY KEY,
  is_registered   boolean NOT NULL DEFAULT false,
  expires_at      bigint,
  registrar       text,
  not_found_since bigint,
  answered_at     bigint,
  failures        smallint NOT NULL DEFAULT 0,
  failure         text,
  next_look_at    bigint NOT NULL DEFAULT 0,
  claimed_until   bigint NOT NULL DEFAULT 0
);

-- One place at each server that answers for domains: taken until `held_until`, and then nobody is let in before `free_at`. Unlogged: losing it
-- costs a registry one pause.
CREATE UNLOGGED TABLE registry_turns (
  server     text PRIMARY KEY,
  held_until bigint NOT NULL,
  free_at    bigint NOT NULL
);

-- IANA's registry of RDAP services as it was last read: one row, {"<top-level domain>": "<address>"}.
CREATE TABLE rdap_bootstrap (
  only_one      boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  services      jsonb NOT NULL,
  etag          text,
  last_modified text,
  checked_at    bigint NOT NULL
);

-- The certificate that each source of an https monitor with an expiry warning saw last, for the target that it was then.
CREATE TABLE certificates (
  monitor_no integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  agent_no   integer NOT NULL REFERENCES agents (no) ON DELETE CASCADE,
  target     text NOT NULL,
  name       text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (monitor_no, agent_no)
);

-- Advisories that were said, so that each is said once for an expiry; `threshold` is in days left.
CREATE TABLE advisories (
  monitor_no integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  subject    text NOT NULL CHECK (subject IN ('domain', 'certificate')),
  name       text NOT NULL,
  expires_at bigint NOT NULL,
  threshold  smallint NOT NULL,
  said_at    bigint NOT NULL,
  PRIMARY KEY (monitor_no, subject, name, expires_at, threshold)
);

CREATE INDEX monitors_warned ON monitors (no) WHERE enabled AND check_spec ? 'domain';
