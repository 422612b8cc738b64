-- A failure within so many seconds after a recovery reopens the incident; 0 = it opens another one.
ALTER TABLE monitors ADD COLUMN reopen_seconds integer NOT NULL DEFAULT 0;
