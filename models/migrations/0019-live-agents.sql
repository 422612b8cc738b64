-- See 0016. Shared agents are everybody's. That an agent was seen once more is no news, and comes several times a second.
CREATE TRIGGER agents_tell_new AFTER INSERT OR DELETE ON agents FOR EACH ROW EXECUTE FUNCTION tell_change('agent');
CREATE TRIGGER agents_tell_change AFTER UPDATE ON agents FOR EACH ROW
  WHEN ((OLD.name, OLD.region, OLD.capabilities, OLD.version, OLD.arch, OLD.offline_at, OLD.revoked_at)
        IS DISTINCT FROM (NEW.name, NEW.region, NEW.capabilities, NEW.version, NEW.arch, NEW.offline_at, NEW.revoked_at))
  EXECUTE FUNCTION tell_change('agent');
