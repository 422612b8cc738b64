-- Which processes are at work: each notes itself every few seconds, and leaves when it stops. For operators to look at; nothing depends on it, and a crash
-- of PostgreSQL may lose it. `figures` is how late its checks began and how far behind its evaluation was lately. Times are Unix seconds.
CREATE UNLOGGED TABLE processes (
  id         text PRIMARY KEY,
  kind       text NOT NULL,
  version    text NOT NULL,
  host       text NOT NULL,
  pid        integer NOT NULL,
  figures    json,
  started_at bigint NOT NULL,
  seen_at    bigint NOT NULL
);
