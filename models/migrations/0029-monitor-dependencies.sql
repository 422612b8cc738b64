-- Which monitors a monitor depends on, and what that means for its alerts (D-528).
CREATE TABLE monitor_dependencies (
  monitor_no integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  parent_no  integer NOT NULL REFERENCES monitors (no) ON DELETE CASCADE,
  mode       text NOT NULL CHECK (mode IN ('annotate', 'hold')),
  PRIMARY KEY (monitor_no, parent_no)
);
CREATE INDEX monitor_dependencies_parent ON monitor_dependencies (parent_no);
