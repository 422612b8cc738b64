-- Occurrences whose monitors are written, until they are over: from a quarter of an hour before they begin. What runs
-- every few seconds finds them here, however many are planned.
CREATE TABLE current_occurrences (
  occurrence_no bigint PRIMARY KEY REFERENCES maintenance_occurrences ON DELETE CASCADE,
  has_begun     boolean NOT NULL -- whether the account's streams know that it has begun
);
INSERT INTO current_occurrences (occurrence_no, has_begun)
SELECT no, true FROM maintenance_occurrences
WHERE covered_at IS NOT NULL AND NOT is_skipped AND ends_at > extract(epoch FROM now()) * 1000;

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
