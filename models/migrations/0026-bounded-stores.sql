-- The tenant that a page counts for which no monitor watches: few of them are kept, for an hour.
ALTER TABLE vendor_pages ADD COLUMN reader_tenant_id text;

-- Until when (Unix milliseconds) the deliveries of a tenant or a monitor use up what they may have at a steady rate. Losing it costs a burst.
CREATE UNLOGGED TABLE delivery_rates (
  key     text PRIMARY KEY,
  used_up bigint NOT NULL
);

-- How many later changes of its monitor a delivery took in while it waited for its turn.
CREATE TABLE merged_deliveries (
  delivery_id text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  changes     integer NOT NULL
);

-- Heartbeats that were deleted and whose pings are not yet: a chore deletes these, some at a time.
CREATE TABLE orphaned_pings (
  monitor_no integer PRIMARY KEY
);
