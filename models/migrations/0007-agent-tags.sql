ALTER TABLE agents ADD COLUMN tags text[] NOT NULL DEFAULT '{}';

DROP TRIGGER agents_tell_change ON agents;
CREATE TRIGGER agents_tell_change AFTER UPDATE ON agents FOR EACH ROW
  WHEN (
    (OLD.name, OLD.region, OLD.tags, OLD.capabilities, OLD.version, OLD.arch, OLD.offline_at, OLD.revoked_at)
    IS DISTINCT FROM
    (NEW.name, NEW.region, NEW.tags, NEW.capabilities, NEW.version, NEW.arch, NEW.offline_at, NEW.revoked_at)
  )
  EXECUTE FUNCTION tell_change('agent');
