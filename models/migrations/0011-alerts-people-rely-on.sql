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

-- `no`: the order in which deliveries were written. Those of one monitor are written under its lock, so that it is the order of its transitions
-- even where the clocks of two evaluators differ. A claim asks by the index whether an earlier one of the same channel and monitor is on its way.
ALTER TABLE deliveries ADD COLUMN no bigint GENERATED ALWAYS AS IDENTITY;
CREATE INDEX deliveries_order ON deliveries (channel_id, monitor_id, no) WHERE outcome = 'pending';

-- The newest summary of a chat, and when it is due: what comes before its first attempt is told in it, in `summary_changes`, a row for each
-- monitor as it was last. The attempt takes them over into the message.
CREATE TABLE summaries (
  channel_id  text PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
  delivery_id text NOT NULL,
  due_at      bigint NOT NULL
);
CREATE TABLE summary_changes (
  delivery_id text NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  monitor_id  text NOT NULL,
  name        text NOT NULL,
  state       text NOT NULL CHECK (state IN ('up', 'degraded', 'down', 'unknown')),
  at          bigint NOT NULL,
  PRIMARY KEY (delivery_id, monitor_id)
);

-- How many monitors of a tenant have changed lately.
CREATE INDEX transitions_tenant ON transitions (tenant_id, detected_at);

-- What is sent again, and listed for it, among what mostly arrived.
CREATE INDEX deliveries_failed ON deliveries (channel_id, created_at, id) WHERE outcome = 'failed';

-- Where long polling of a Telegram bot goes on: written with what its last update changed, so that a restart repeats nothing.
CREATE TABLE telegram_polls (
  bot            text PRIMARY KEY,
  next_update_id bigint NOT NULL,
  at             bigint NOT NULL
);
