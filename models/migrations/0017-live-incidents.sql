-- See 0016. Old incidents that retention deletes are no news.
CREATE TRIGGER incidents_tell_new AFTER INSERT ON incidents FOR EACH ROW EXECUTE FUNCTION tell_change('incident');
CREATE TRIGGER incidents_tell_change AFTER UPDATE ON incidents FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION tell_change('incident');
