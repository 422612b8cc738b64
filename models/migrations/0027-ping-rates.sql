-- Until when (Unix milliseconds) the pings of a heartbeat use up the rows, and the bytes of bodies, that are kept of them at a steady rate.
ALTER TABLE heartbeats ADD COLUMN rows_used_up bigint, ADD COLUMN bytes_used_up bigint;
