-- Alerts that wait for a monitor that theirs depends on, or that came in its message (D-530). `joined_id`: the delivery of
-- that monitor in which they came; null while they wait. `since`: what they wait for is newer, in Unix milliseconds;
-- `awaits_own`: a result of their own monitor, and not of the other one.
CREATE TABLE parent_holds (
  delivery_id text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  monitor_id  text NOT NULL,
  sequence    integer NOT NULL,
  parent_id   text NOT NULL,
  joined_id   text,
  since       bigint NOT NULL,
  awaits_own  boolean NOT NULL
);
CREATE INDEX parent_holds_monitor ON parent_holds (monitor_id, sequence);
CREATE INDEX parent_holds_parent ON parent_holds (parent_id) WHERE joined_id IS NOT NULL;
CREATE INDEX parent_holds_joined ON parent_holds (joined_id) WHERE joined_id IS NOT NULL;
CREATE INDEX parent_holds_waiting ON parent_holds (delivery_id) WHERE joined_id IS NULL;
