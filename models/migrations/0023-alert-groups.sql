-- What a channel with `group_seconds` is sent in one message: the first alert of a state and cause, and those that
-- follow it closely. `id` is the delivery that opened it, `chat_message_id` the message that a chat lets us edit.
CREATE TABLE alert_groups (
  id              text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  channel_id      text NOT NULL,
  key             text NOT NULL,    -- state and cause
  opened_at       bigint NOT NULL,
  open_until      bigint NOT NULL,  -- Unix milliseconds
  newest_id       text NOT NULL,    -- its newest delivery
  newest_due_at   bigint NOT NULL,
  chat_message_id bigint
);
CREATE INDEX alert_groups_open ON alert_groups (channel_id, open_until);

-- The deliveries of groups: the one that opened it, and those that say what has joined since.
CREATE TABLE grouped_deliveries (
  delivery_id text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  group_id    text NOT NULL
);
CREATE INDEX grouped_deliveries_group ON grouped_deliveries (group_id);
