-- When an agent of ours last left out checks because there was more to check than time, in Unix milliseconds.
ALTER TABLE agents ADD COLUMN behind_at bigint;
