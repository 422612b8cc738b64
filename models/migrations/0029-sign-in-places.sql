-- Browsers and networks from which somebody has signed in: wrong passwords from elsewhere do not count against them. `account` is a user's id or
-- `queue-board`, which has no user; `place` is `browser:` and the SHA-256 of what its cookie holds, or `network:` and an IPv4 address or IPv6 /64.
CREATE TABLE sign_in_places (
  account text NOT NULL,
  user_id text REFERENCES users ON DELETE CASCADE,
  place   text NOT NULL,
  seen_at bigint NOT NULL,
  PRIMARY KEY (account, place)
);
CREATE INDEX sign_in_places_user ON sign_in_places (user_id);
