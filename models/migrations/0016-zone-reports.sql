-- Reports by email over the weeks and months of other zones than UTC, each made once. `content` is null where there was
-- no monitor to report on.
CREATE TABLE zone_reports (
  tenant_id    text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  timezone     text NOT NULL,
  period       text NOT NULL CHECK (period IN ('week', 'month')),
  period_start bigint NOT NULL,     -- Unix seconds, as the next two
  period_end   bigint NOT NULL,
  created_at   bigint NOT NULL,
  content      json,
  PRIMARY KEY (tenant_id, timezone, period, period_start)
);
