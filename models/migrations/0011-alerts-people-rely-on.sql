-- The chat that a Telegram channel talks to. Of a Slack channel `sealed_url` is the incoming webhook that Slack gave us.
-- `failures` counts deliveries in a row that came to nothing, since `failing_since`; `failing_told_at` is when the owner's other channels
-- were told of it. After a change of its secret a webhook is signed with the one before as well, until `previous_secret_until`.
-- Times are Unix milliseconds.
ALTER TABLE channels
  ADD COLUMN chat_id                text,
  ADD COLUMN last_error             text,
  ADD COLUMN last_error_at          bigint,
  ADD COLUMN failures               integer NOT NULL DEFAULT 0,
  ADD COLUMN failing_since          bigint,
  ADD COLUMN failing_told_at        bigint,
  ADD COLUMN sealed_previous_secret text,
  ADD COLUMN previous_secret_until  bigint;
CREATE INDEX channels_chat ON channels (chat_id) WHERE chat_id IS NOT NULL;

-- `superseded`: a retry to a chat that newer news of the same monitor made pointless. `attempts_before`: those of earlier rounds of a
-- delivery that was asked for again.
ALTER TABLE deliveries
  DROP CONSTRAINT deliveries_outcome_check,
  ADD CONSTRAINT deliveries_outcome_check CHECK (outcome IN ('pending', 'delivered', 'failed', 'superseded')),
  ADD COLUMN attempts_before smallint NOT NULL DEFAULT 0;
