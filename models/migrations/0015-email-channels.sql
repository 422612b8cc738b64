-- Channels that send emails to one confirmed address.
ALTER TABLE channels DROP CONSTRAINT channels_type_check;
ALTER TABLE channels ADD CONSTRAINT channels_type_check CHECK (type IN ('telegram', 'slack', 'webhook', 'email'))
  NOT VALID;
ALTER TABLE channels ADD COLUMN address text;
