-- What the rules of a channel hold (D-507 to D-509). `released_at`: it waits no longer. `unless_acknowledged`: it is not
-- sent where somebody has acknowledged the incident by then. A reminder is the delivery `reminder` of those that follow
-- `reminder_of`, which need not be a row any more.
ALTER TABLE held_deliveries ADD COLUMN released_at bigint;
ALTER TABLE held_deliveries ADD COLUMN unless_acknowledged boolean NOT NULL DEFAULT false;
ALTER TABLE held_deliveries ADD COLUMN reminder_of text;
ALTER TABLE held_deliveries ADD COLUMN reminder smallint;
ALTER TABLE held_deliveries DROP CONSTRAINT held_deliveries_reason_check;
ALTER TABLE held_deliveries ADD CONSTRAINT held_deliveries_reason_check
  CHECK (reason IN ('maintenance', 'mute', 'snooze', 'quiet_hours', 'delay', 'parent', 'reminder')) NOT VALID;
CREATE UNIQUE INDEX held_deliveries_reminder ON held_deliveries (reminder_of, reminder) WHERE reminder_of IS NOT NULL;

-- Until when alerts of a monitor wait, and reminders and delayed alerts of an incident, in Unix milliseconds.
ALTER TABLE monitors ADD COLUMN muted_until bigint;
CREATE INDEX monitors_muted ON monitors (muted_until) WHERE muted_until IS NOT NULL;
ALTER TABLE incidents ADD COLUMN snoozed_until bigint;

CREATE OR REPLACE FUNCTION held_ahead(delivery deliveries, now_ms bigint) RETURNS TABLE (ahead_id text)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT o.id FROM deliveries o
    JOIN held_deliveries h ON h.delivery_id = o.id AND h.summary_id IS NULL AND h.released_at IS NULL
  WHERE o.channel_id = (held_ahead.delivery).channel_id AND o.outcome = 'pending' AND o.next_attempt_at <= now_ms
    AND CASE WHEN coalesce(o.claimed_until, 0) > now_ms THEN o.id <> (held_ahead.delivery).id
      ELSE (o.next_attempt_at, o.id)
        < ((held_ahead.delivery).next_attempt_at, (held_ahead.delivery).id) END;
END;

-- As before, but for what is held and not due: a reminder of tomorrow does not keep today's advisory.
CREATE OR REPLACE FUNCTION deliveries_ahead(channel_id text, monitor_id text, no bigint, after_id text, now_ms bigint)
RETURNS TABLE (ahead_no bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT d.no FROM deliveries d
  WHERE d.channel_id = deliveries_ahead.channel_id AND d.monitor_id = deliveries_ahead.monitor_id
    AND d.no < deliveries_ahead.no AND is_on_first_attempt(d, now_ms)
    AND (d.next_attempt_at <= now_ms OR NOT EXISTS (SELECT FROM held_deliveries h WHERE h.delivery_id = d.id))
  UNION ALL
  SELECT d.no FROM deliveries d WHERE d.id = deliveries_ahead.after_id AND is_on_first_attempt(d, now_ms);
END;
