-- What an entry of the audit log is called outside: `no` would tell everybody how much others do. Nothing wrote entries before this; null in none.
ALTER TABLE audit_log ADD COLUMN id text;
