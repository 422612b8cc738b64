-- A channel that is not for all monitors also gets the alerts of those with any of these tags, or with all of them.
ALTER TABLE channels ADD COLUMN any_tags text[] NOT NULL DEFAULT '{}';
ALTER TABLE channels ADD COLUMN all_tags text[] NOT NULL DEFAULT '{}';

DROP TRIGGER channels_tell_change ON channels;
CREATE TRIGGER channels_tell_change AFTER UPDATE ON channels FOR EACH ROW
  WHEN (
    (OLD.name, OLD.enabled, OLD.status, OLD.all_monitors, OLD.any_tags, OLD.all_tags, OLD.wants_reports, OLD.url_host,
     OLD.team_name, OLD.channel_name, OLD.last_error)
    IS DISTINCT FROM
    (NEW.name, NEW.enabled, NEW.status, NEW.all_monitors, NEW.any_tags, NEW.all_tags, NEW.wants_reports, NEW.url_host,
     NEW.team_name, NEW.channel_name, NEW.last_error)
  )
  EXECUTE FUNCTION tell_change('channel');
