-- An outage that only seems to be one (D-546): what each location answers is made up, all that follows from it is real
-- up to the receivers. No transition and no incident is written, so that it counts nowhere. `monitor_id` is no
-- reference, for a drill ends although its monitor is deleted. Times are Unix milliseconds.
CREATE TABLE drills (
  id          text PRIMARY KEY,
  tenant_id   text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  monitor_id  text NOT NULL,
  monitor     jsonb NOT NULL,               -- what it was when the drill began
  incident_id text NOT NULL,                -- what its messages name; no row of `incidents`
  is_monthly  boolean NOT NULL,
  request_key text,                         -- the idempotency key of the request that began it
  status      text NOT NULL DEFAULT 'failing' CHECK (status IN ('failing', 'alerted', 'ended', 'failed')),
  answers     jsonb NOT NULL DEFAULT '[]',  -- what locations answered, in the order in which it came
  skipped     jsonb NOT NULL DEFAULT '[]',  -- channels that were not notified, and why
  started_at  bigint NOT NULL,
  alerted_at  bigint,
  ends_at     bigint,
  ended_at    bigint
);
CREATE UNIQUE INDEX drills_running ON drills (monitor_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX drills_request ON drills (tenant_id, request_key) WHERE request_key IS NOT NULL;
CREATE INDEX drills_monitor ON drills (tenant_id, monitor_id, started_at DESC, id DESC);
CREATE INDEX drills_started ON drills (started_at);

-- As `overtaken`, and of a drill, whose deliveries have its id for that of the monitor: once it is over, what began it.
CREATE FUNCTION outdated(event text, monitor_id text, message json) RETURNS TABLE (is_outdated boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT true WHERE CASE WHEN outdated.monitor_id LIKE 'drl\_%' THEN
    outdated.event <> 'monitor.up'
      AND EXISTS (SELECT FROM drills d WHERE d.id = outdated.monitor_id AND d.ended_at IS NOT NULL)
    ELSE EXISTS (SELECT FROM overtaken(outdated.event, outdated.monitor_id, outdated.message)) END;
END;
