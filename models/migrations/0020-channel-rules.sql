-- Which events a channel is notified of, and when; null = of all, at once.
ALTER TABLE channels ADD COLUMN rules jsonb;
-- A chat or an email takes what follows its first message within so many seconds into one; 0 = each by itself.
ALTER TABLE channels ADD COLUMN group_seconds smallint NOT NULL DEFAULT 0;
-- Whether it is told once that a monitor is unstable instead of each of its changes.
ALTER TABLE channels ADD COLUMN summarizes_flapping boolean NOT NULL DEFAULT false;

DROP TRIGGER channels_tell_change ON channels;
CREATE TRIGGER channels_tell_change AFTER UPDATE ON channels FOR EACH ROW
  WHEN (
    (OLD.name, OLD.enabled, OLD.status, OLD.all_monitors, OLD.any_tags, OLD.all_tags, OLD.wants_reports,
     OLD.report_timezone, OLD.follows_maintenance, OLD.rules, OLD.group_seconds, OLD.summarizes_flapping, OLD.url_host,
     OLD.format, OLD.team_name, OLD.channel_name, OLD.last_error)
    IS DISTINCT FROM
    (NEW.name, NEW.enabled, NEW.status, NEW.all_monitors, NEW.any_tags, NEW.all_tags, NEW.wants_reports,
     NEW.report_timezone, NEW.follows_maintenance, NEW.rules, NEW.group_seconds, NEW.summarizes_flapping, NEW.url_host,
     NEW.format, NEW.team_name, NEW.channel_name, NEW.last_error)
  )
  EXECUTE FUNCTION tell_change('channel');
