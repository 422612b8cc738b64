-- Occurrences whose monitors are written, from a quarter of an hour before they begin until no alert waits for them any
-- more. What runs every few seconds, reads and alerts find them here, however many are planned or were.
CREATE TABLE current_occurrences (
  occurrence_no bigint PRIMARY KEY REFERENCES maintenance_occurrences ON DELETE CASCADE,
  tenant_id     text NOT NULL,
  has_begun     boolean NOT NULL, -- whether the account's streams know that it has begun
  has_ended     boolean NOT NULL  -- likewise
);
CREATE INDEX current_occurrences_tenant ON current_occurrences (tenant_id);
INSERT INTO current_occurrences (occurrence_no, tenant_id, has_begun, has_ended)
SELECT no, tenant_id, true, false FROM maintenance_occurrences
WHERE covered_at IS NOT NULL AND NOT is_skipped AND ends_at > (extract(epoch FROM now()) - 3600) * 1000;

-- The monitors of current occurrences: the way from a monitor to those of its `maintenance_times` that matter now.
CREATE TABLE current_times (
  monitor_no    integer NOT NULL,
  occurrence_no bigint NOT NULL REFERENCES current_occurrences ON DELETE CASCADE,
  PRIMARY KEY (monitor_no, occurrence_no)
);
CREATE INDEX current_times_occurrence ON current_times (occurrence_no);
INSERT INTO current_times (monitor_no, occurrence_no)
SELECT DISTINCT t.monitor_no, t.occurrence_no FROM current_occurrences c
JOIN maintenance_times t ON t.occurrence_no = c.occurrence_no;

-- Without what planning ahead changes every day.
CREATE TRIGGER maintenance_windows_tell_new AFTER INSERT OR DELETE ON maintenance_windows FOR EACH ROW
  EXECUTE FUNCTION tell_change('maintenance');
CREATE TRIGGER maintenance_windows_tell_change AFTER UPDATE ON maintenance_windows FOR EACH ROW
  WHEN (
    (OLD.name, OLD.description, OLD.all_monitors, OLD.monitor_ids, OLD.tags, OLD.timezone, OLD.starts_at,
     OLD.duration_seconds, OLD.cron, OLD.rrule, OLD.alerts, OLD.sla, OLD.settle_seconds)
    IS DISTINCT FROM
    (NEW.name, NEW.description, NEW.all_monitors, NEW.monitor_ids, NEW.tags, NEW.timezone, NEW.starts_at,
     NEW.duration_seconds, NEW.cron, NEW.rrule, NEW.alerts, NEW.sla, NEW.settle_seconds)
  )
  EXECUTE FUNCTION tell_change('maintenance');
