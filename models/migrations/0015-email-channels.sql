-- Channels that send emails to one confirmed address.
ALTER TABLE channels DROP CONSTRAINT channels_type_check;
ALTER TABLE channels ADD CONSTRAINT channels_type_check CHECK (type IN ('telegram', 'slack', 'webhook', 'email'))
  NOT VALID;
ALTER TABLE channels ADD COLUMN address text;
-- The zone of its weeks and months in reports; null is UTC.
ALTER TABLE channels ADD COLUMN report_timezone text;

DROP TRIGGER channels_tell_change ON channels;
CREATE TRIGGER channels_tell_change AFTER UPDATE ON channels FOR EACH ROW
  WHEN (
    (OLD.name, OLD.enabled, OLD.status, OLD.all_monitors, OLD.any_tags, OLD.all_tags, OLD.wants_reports,
     OLD.report_timezone, OLD.follows_maintenance, OLD.url_host, OLD.format, OLD.team_name, OLD.channel_name,
     OLD.last_error)
    IS DISTINCT FROM
    (NEW.name, NEW.enabled, NEW.status, NEW.all_monitors, NEW.any_tags, NEW.all_tags, NEW.wants_reports,
     NEW.report_timezone, NEW.follows_maintenance, NEW.url_host, NEW.format, NEW.team_name, NEW.channel_name,
     NEW.last_error)
  )
  EXECUTE FUNCTION tell_change('channel');
