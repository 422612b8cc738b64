-- What vendors' pages said when they were last asked: one row a document, so that each is fetched once for all processes and monitors.
-- It is a cache: what a crash loses is asked again, so no WAL. Times are Unix milliseconds; `claimed_until` is there while somebody asks.
CREATE UNLOGGED TABLE vendor_pages (
  url           text PRIMARY KEY,
  snapshot      jsonb,
  etag          text,
  last_modified text,
  fetched_at    bigint,
  asked_at      bigint,
  latency_ms    integer,
  failure       jsonb,
  failures      smallint NOT NULL DEFAULT 0,
  retry_at      bigint,
  claimed_until bigint
);
CREATE INDEX vendor_pages_asked ON vendor_pages (asked_at);
