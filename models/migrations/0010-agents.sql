-- A customer's agent shows a public key (X25519, base64) with its first check-in; it is pinned then, and secrets go to the agent sealed to
-- it only; `secrets_withheld` is why its newest check-in was given none. `offline_at` (Unix milliseconds) is since when an agent counts as offline
-- (D-56); null = it does not. `held_until` (likewise) is until when its silence is held back, or was at the last time that most agents fell silent.
ALTER TABLE agents
  ADD COLUMN public_key text,
  ADD COLUMN secrets_withheld text CHECK (secrets_withheld IN ('no_key', 'other_key')),
  ADD COLUMN offline_at bigint,
  ADD COLUMN held_until bigint;

-- The version of a monitor's checks that a customer's agent was given last, when (Unix milliseconds), and the one before: a result that
-- began earlier measured that.
ALTER TABLE monitor_sources ADD COLUMN given_version integer, ADD COLUMN given_at bigint, ADD COLUMN given_before integer;

-- True where a monitor was made before there was any agent for it: it gets the default ones as soon as there are some. A monitor whose
-- agents are gone gets none: nobody may look at it whom its owner did not choose.
ALTER TABLE monitors ADD COLUMN awaits_sources boolean NOT NULL DEFAULT false;
UPDATE monitors m SET awaits_sources = true
  WHERE type IN ('http', 'tcp', 'icmp', 'udp') AND NOT EXISTS (SELECT 1 FROM monitor_sources s WHERE s.monitor_no = m.no);
CREATE INDEX monitors_awaiting ON monitors (no) WHERE awaits_sources;

-- Whether a source did not count when its monitor was last decided, because nothing had come from it lately or its agent was offline. Once it
-- counts again the monitor is decided anew: a source that says what it said before its silence is no news by itself.
ALTER TABLE monitor_sources ADD COLUMN was_unheard boolean NOT NULL DEFAULT false;
CREATE INDEX monitor_sources_unheard ON monitor_sources (monitor_no) WHERE was_unheard;
