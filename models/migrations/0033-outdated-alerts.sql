-- A row where an alert must not be sent any more: its monitor has changed since, or is gone, or its drill is over. What
-- our own overload made of a monitor changes nothing, nor does the return to the state before it, for no channel is
-- notified of them; and of the end of trouble only new trouble takes anything.
CREATE FUNCTION outdated_alert(event text, monitor_id text, message json) RETURNS TABLE (is_outdated boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT true WHERE CASE
    WHEN outdated_alert.monitor_id LIKE 'drl\_%' THEN outdated_alert.event <> 'monitor.up'
      AND EXISTS (SELECT FROM drills d WHERE d.id = outdated_alert.monitor_id AND d.ended_at IS NOT NULL)
    WHEN outdated_alert.event LIKE 'monitor.%' THEN
      EXISTS (SELECT FROM transitions t WHERE t.monitor_id = outdated_alert.monitor_id
        AND t.sequence > (outdated_alert.message -> 'detail' ->> 'sequence')::integer
        AND (outdated_alert.event <> 'monitor.up' OR t.to_state IN ('degraded', 'down', 'unknown'))
        AND NOT EXISTS (SELECT FROM unchecked_times u WHERE u.monitor_id = t.monitor_id
          AND (u.sequence = t.sequence OR (u.sequence + 1 = t.sequence AND u.from_state = t.to_state))))
      OR NOT EXISTS (SELECT FROM monitors m WHERE m.id = outdated_alert.monitor_id) END;
END;
