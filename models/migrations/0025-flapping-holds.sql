-- Messages about a monitor that flaps wait for their turn as other alerts do.
ALTER TABLE held_deliveries DROP CONSTRAINT held_deliveries_reason_check;
ALTER TABLE held_deliveries ADD CONSTRAINT held_deliveries_reason_check
  CHECK (reason IN ('maintenance', 'mute', 'snooze', 'quiet_hours', 'delay', 'parent', 'reminder', 'flapping')) NOT VALID;
