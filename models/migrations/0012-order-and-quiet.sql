-- A replayed delivery waits for the first attempt at the one that was made before it in the same replay, whatever monitor that is of.
ALTER TABLE deliveries ADD COLUMN after_id text;

-- A chat that asked to be left alone is sent nothing until then, Unix milliseconds.
ALTER TABLE channels ADD COLUMN quiet_until bigint;

-- Of the transition that was gathered: a summary leaves out what has newer news.
ALTER TABLE summary_changes ADD COLUMN sequence integer NOT NULL DEFAULT 0;
