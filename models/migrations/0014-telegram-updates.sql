-- Updates of a Telegram bot that were acted on, by the bot and its number for them: whatever comes twice is acted on once, in whichever order and in
-- whichever process it comes. Written with what the update changed. `at` is in Unix milliseconds; retention deletes what Telegram cannot repeat any more.
CREATE TABLE telegram_updates (
  bot       text   NOT NULL,
  update_id bigint NOT NULL,
  at        bigint NOT NULL,
  PRIMARY KEY (bot, update_id)
);
