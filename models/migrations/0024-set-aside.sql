-- Hours of single sources whose roll-up failed: they are made again by themselves, later and later, while all others go on. `at` is the hour's
-- first moment, `retry_at` when it is tried again, both in Unix milliseconds; `attempts` failed so far.
CREATE TABLE set_aside_hours (
  at         bigint NOT NULL,
  monitor_no integer NOT NULL,
  agent_no   integer NOT NULL,
  attempts   integer NOT NULL,
  retry_at   bigint NOT NULL,
  PRIMARY KEY (at, monitor_no, agent_no)
);
