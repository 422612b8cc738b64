-- Until when alerts of a monitor wait, in Unix milliseconds. A mute that is over may stay here.
CREATE TABLE monitor_mutes (
  monitor_id  text PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
  tenant_id   text NOT NULL,
  muted_until bigint NOT NULL
);
CREATE INDEX monitor_mutes_tenant ON monitor_mutes (tenant_id, muted_until);

-- Until when reminders and delayed alerts of an incident wait, in Unix milliseconds.
ALTER TABLE incidents ADD COLUMN snoozed_until bigint;
