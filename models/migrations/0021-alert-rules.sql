-- What the rules of a channel hold (D-507 to D-509). `released_at`: it waits no longer. `unless_acknowledged`: it is not
-- sent where somebody has acknowledged the incident by then.
ALTER TABLE held_deliveries ADD COLUMN released_at bigint;
ALTER TABLE held_deliveries ADD COLUMN unless_acknowledged boolean NOT NULL DEFAULT false;
ALTER TABLE held_deliveries DROP CONSTRAINT held_deliveries_reason_check;
ALTER TABLE held_deliveries ADD CONSTRAINT held_deliveries_reason_check
  CHECK (reason IN ('maintenance', 'mute', 'snooze', 'quiet_hours', 'delay', 'parent', 'reminder')) NOT VALID;

-- Reminders: `delivery_id` is number `number` of those that follow the delivery `follows`, which need not be a row any
-- more.
CREATE TABLE reminders (
  delivery_id text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  follows     text NOT NULL,
  number      smallint NOT NULL,
  UNIQUE (follows, number)
);

-- What a waiting alert that is due lets go first, as `held_ahead` of the release before, without what was released.
CREATE FUNCTION waiting_ahead(delivery deliveries, now_ms bigint) RETURNS TABLE (ahead_id text)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT o.id FROM deliveries o
    JOIN held_deliveries h ON h.delivery_id = o.id AND h.summary_id IS NULL AND h.released_at IS NULL
  WHERE o.channel_id = (waiting_ahead.delivery).channel_id AND o.outcome = 'pending' AND o.next_attempt_at <= now_ms
    AND CASE WHEN coalesce(o.claimed_until, 0) > now_ms THEN o.id <> (waiting_ahead.delivery).id
      ELSE (o.next_attempt_at, o.id)
        < ((waiting_ahead.delivery).next_attempt_at, (waiting_ahead.delivery).id) END;
END;

-- As `deliveries_ahead`, without what is held and not due: a reminder of tomorrow does not keep today's advisory.
CREATE FUNCTION unheld_ahead(channel_id text, monitor_id text, no bigint, after_id text, now_ms bigint)
RETURNS TABLE (ahead_no bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT d.no FROM deliveries d
  WHERE d.channel_id = unheld_ahead.channel_id AND d.monitor_id = unheld_ahead.monitor_id
    AND d.no < unheld_ahead.no AND is_on_first_attempt(d, now_ms)
    AND (d.next_attempt_at <= now_ms OR NOT EXISTS (SELECT FROM held_deliveries h WHERE h.delivery_id = d.id))
  UNION ALL
  SELECT d.no FROM deliveries d WHERE d.id = unheld_ahead.after_id AND is_on_first_attempt(d, now_ms);
END;
