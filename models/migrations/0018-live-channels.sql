-- See 0016. What a channel counts for itself with each failed delivery is not shown; that it fails, and how, is.
CREATE TRIGGER channels_tell_new AFTER INSERT OR DELETE ON channels FOR EACH ROW EXECUTE FUNCTION tell_change('channel');
CREATE TRIGGER channels_tell_change AFTER UPDATE ON channels FOR EACH ROW
  WHEN ((OLD.name, OLD.enabled, OLD.status, OLD.all_monitors, OLD.wants_reports, OLD.url_host, OLD.team_name, OLD.channel_name, OLD.last_error)
        IS DISTINCT FROM (NEW.name, NEW.enabled, NEW.status, NEW.all_monitors, NEW.wants_reports, NEW.url_host, NEW.team_name, NEW.channel_name, NEW.last_error))
  EXECUTE FUNCTION tell_change('channel');
