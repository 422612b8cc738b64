-- An SLA over service hours, `{target, timezone, hours, excludeMaintenance}`; null: none.
ALTER TABLE monitors ADD COLUMN sla jsonb;
