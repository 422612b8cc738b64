-- Until when alerts of a monitor wait, in Unix milliseconds. A mute that is over may stay here.
CREATE TABLE monitor_mutes (
  id          text PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
  tenant_id   text NOT NULL,
  muted_until bigint NOT NULL
);
CREATE INDEX monitor_mutes_tenant ON monitor_mutes (tenant_id, muted_until);
CREATE TRIGGER monitor_mutes_tell_change AFTER INSERT OR UPDATE OR DELETE ON monitor_mutes FOR EACH ROW
  EXECUTE FUNCTION tell_change('monitor');

-- Until when reminders and delayed alerts of an incident wait, in Unix milliseconds.
ALTER TABLE incidents ADD COLUMN snoozed_until bigint;
