-- People of the console. Who was there before roles were is the owner of the account. `theme` is how somebody wants the console to look. What the
-- second factor is made from is sealed (D-17); it counts from `totp_confirmed_at` on, and before that it waits for its first code. `totp_step` is
-- the time step (RFC 6238) of the last code that was taken: none is taken twice. `password_changed_at` is null as long as the password is the one that
-- was handed out.
ALTER TABLE users
  ADD COLUMN name text NOT NULL DEFAULT '',
  ADD COLUMN role text NOT NULL DEFAULT 'owner',
  ADD COLUMN theme text NOT NULL DEFAULT 'system',
  ADD COLUMN sealed_totp_secret text,
  ADD COLUMN totp_confirmed_at bigint,
  ADD COLUMN totp_step bigint,
  ADD COLUMN password_changed_at bigint,
  ADD COLUMN last_signed_in_at bigint,
  ADD CONSTRAINT users_role_check CHECK (role IN ('owner', 'editor', 'viewer')) NOT VALID,
  ADD CONSTRAINT users_theme_check CHECK (theme IN ('system', 'light', 'dark')) NOT VALID;

-- Codes for a lost second factor, as fingerprints (SHA-256): used up by being deleted.
CREATE TABLE recovery_codes (
  user_id     text NOT NULL REFERENCES users ON DELETE CASCADE,
  fingerprint bytea NOT NULL,
  PRIMARY KEY (user_id, fingerprint)
);

-- Who is signed in where. The cookie holds 32 random bytes, of which only the SHA-256 is kept; a session that has ended is a row that is gone.
CREATE TABLE sessions (
  id           text PRIMARY KEY,
  user_id      text NOT NULL REFERENCES users ON DELETE CASCADE,
  fingerprint  bytea NOT NULL UNIQUE,
  created_at   bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  address      text,
  user_agent   text
);
CREATE INDEX sessions_user ON sessions (user_id, created_at, id);

-- Invitations of members. The link holds the token, shown once to who invites; here is its SHA-256. `accepted_at` is null until somebody takes it up.
CREATE TABLE invitations (
  id          text PRIMARY KEY,
  tenant_id   text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  email       text NOT NULL,
  role        text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
  fingerprint bytea NOT NULL UNIQUE,
  invited_by  text REFERENCES users ON DELETE SET NULL,
  created_at  bigint NOT NULL,
  expires_at  bigint NOT NULL,
  accepted_at bigint
);
CREATE INDEX invitations_tenant ON invitations (tenant_id, created_at, id);

-- Every change, with who and when; written in the transaction of the change. The actor is a user, an API token, the operator at the command line,
-- or the system itself; names are as they were then, for things go and their entries stay. `changes` is {field: [before, after]}, secrets as
-- "changed". `at` is in Unix seconds. `tenant_id` is null for what concerns the whole installation.
CREATE TABLE audit_log (
  no          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id   text REFERENCES tenants ON DELETE CASCADE,
  at          bigint NOT NULL,
  actor_kind  text NOT NULL CHECK (actor_kind IN ('user', 'token', 'operator', 'system')),
  actor_id    text,
  actor_name  text NOT NULL,
  action      text NOT NULL,
  object_kind text NOT NULL,
  object_id   text,
  object_name text,
  changes     json,
  address     text
);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, no);
CREATE INDEX audit_log_object ON audit_log (tenant_id, object_kind, object_id, no);
CREATE INDEX audit_log_time ON audit_log USING brin (at) WITH (pages_per_range = 32);
