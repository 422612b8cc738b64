-- Several alerts that waited for the end of maintenance come to a chat as one summary: each keeps which one it came in.
ALTER TABLE held_deliveries ADD COLUMN summary_id text;

-- What a waiting alert that is due lets go first, so that one claim finds all that came due with it: those before it
-- that wait for the same chat, and one that is claimed and is neither released nor gathered yet.
CREATE FUNCTION held_ahead(delivery deliveries, now_ms bigint) RETURNS TABLE (ahead_id text) LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT o.id FROM deliveries o JOIN held_deliveries h ON h.delivery_id = o.id AND h.summary_id IS NULL
  WHERE o.channel_id = (held_ahead.delivery).channel_id AND o.outcome = 'pending' AND o.next_attempt_at <= now_ms
    AND CASE WHEN coalesce(o.claimed_until, 0) > now_ms THEN o.id <> (held_ahead.delivery).id
      ELSE (o.next_attempt_at, o.id)
        < ((held_ahead.delivery).next_attempt_at, (held_ahead.delivery).id) END;
END;
