-- When a certificate was seen last, at least once in six hours while it is seen, in Unix milliseconds. Null where that was
-- before this was recorded: such a certificate brings no warning until it is seen again.
ALTER TABLE certificates ADD COLUMN observed_at bigint;
