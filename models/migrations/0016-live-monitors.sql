-- Whoever listens on the channel `spotcheck_changes` hears of each change that somebody can see, once it is committed, as `<tenant> <kind> <id>`; `*` stands
-- for all tenants. Said by the tables themselves, so that no way of changing them is forgotten, and by rows that differ only: a check that is no
-- news says nothing. PostgreSQL says the same twice within a transaction once.
CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('spotcheck_changes', coalesce(NEW.tenant_id, OLD.tenant_id, '*') || ' ' || TG_ARGV[0] || ' ' || coalesce(NEW.id, OLD.id));
  RETURN NULL;
END $$;

CREATE TRIGGER monitors_tell_new AFTER INSERT OR DELETE ON monitors FOR EACH ROW EXECUTE FUNCTION tell_change('monitor');
CREATE TRIGGER monitors_tell_change AFTER UPDATE ON monitors FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION tell_change('monitor');
