-- Deliveries wait for other ends than that of maintenance, too; `reason` says which, and only maintenance has an
-- occurrence. What each reason needs to know stands in `held_by`, such as the id of a monitor.
ALTER TABLE held_deliveries ALTER COLUMN occurrence_no DROP NOT NULL;
ALTER TABLE held_deliveries ADD COLUMN reason text NOT NULL DEFAULT 'maintenance';
ALTER TABLE held_deliveries ADD CONSTRAINT held_deliveries_reason_check
  CHECK (reason IN ('maintenance', 'mute', 'snooze', 'quiet_hours', 'delay', 'parent')) NOT VALID;
ALTER TABLE held_deliveries ADD COLUMN held_by text;
