-- When a heartbeat's job runs: a cron expression over the clock of a zone; null = pings come an interval after each
-- other. A ping up to `early_seconds` before a run counts for it (D-553).
ALTER TABLE heartbeats ADD COLUMN cron text;
ALTER TABLE heartbeats ADD COLUMN time_zone text;
ALTER TABLE heartbeats ADD COLUMN early_seconds integer;
