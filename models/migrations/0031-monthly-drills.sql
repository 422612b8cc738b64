-- Whether a drill of the monitor begins each month, and when the next one is due (Unix milliseconds). It was first due
-- a month after `from_at`.
ALTER TABLE monitors ADD COLUMN monthly_drill boolean NOT NULL DEFAULT false;
CREATE TABLE monthly_drills (
  monitor_no integer PRIMARY KEY REFERENCES monitors (no) ON DELETE CASCADE,
  from_at    bigint NOT NULL,
  next_at    bigint NOT NULL
);
CREATE INDEX monthly_drills_next ON monthly_drills (next_at);
