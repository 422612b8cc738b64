-- Who signs in by an OpenID Connect provider: the provider's issuer and its name for the person (`sub`), never the email
-- address, which is kept only to be shown. Times are Unix seconds.
CREATE TABLE open_id_identities (
  id                text PRIMARY KEY,
  user_id           text NOT NULL REFERENCES users ON DELETE CASCADE,
  issuer            text NOT NULL,
  subject           text NOT NULL,
  email             text NOT NULL,    -- empty where the provider said none
  created_at        bigint NOT NULL,
  last_signed_in_at bigint,
  UNIQUE (issuer, subject),
  UNIQUE (user_id, issuer)
);

-- Sessions that such a sign-in began, for a logout that the provider reports; `sid` is its name for its own session.
CREATE TABLE open_id_sessions (
  session_id  text PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
  identity_id text NOT NULL REFERENCES open_id_identities ON DELETE CASCADE,
  sid         text
);
CREATE INDEX open_id_sessions_identity ON open_id_sessions (identity_id);
CREATE INDEX open_id_sessions_sid ON open_id_sessions (sid);

-- Fingerprints of what a provider vouched for and what is good once: states of sign-ins, ids of logout tokens.
CREATE TABLE open_id_used (
  fingerprint bytea PRIMARY KEY,
  expires_at  bigint NOT NULL
);
CREATE INDEX open_id_used_expiry ON open_id_used (expires_at);

-- Until when a person's password is accepted although only the provider's sign-in is; null = it is not.
ALTER TABLE users ADD COLUMN password_sign_in_until bigint;
