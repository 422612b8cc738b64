-- Deliveries are worked off channel by channel, the longest due first: this is the order in which a claim meets them. Neither a claim nor an
-- expired one changes any of these columns. Nothing asks for pending deliveries by time alone, which is what the index before was for.
DROP INDEX deliveries_pending;
CREATE INDEX deliveries_pending ON deliveries (channel_id, next_attempt_at, id) WHERE outcome = 'pending';
