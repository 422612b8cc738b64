-- A customer's agent shows a public key (X25519, base64) with its first check-in; it is pinned then, and secrets go to the agent sealed to
-- it only. `offline_at` (Unix milliseconds) is since when an agent counts as offline (D-56); null = it does not.
ALTER TABLE agents ADD COLUMN public_key text, ADD COLUMN offline_at bigint;

-- The version of a monitor's checks that a customer's agent was given last, and when (Unix milliseconds): a result that began before
-- then measured older ones.
ALTER TABLE monitor_sources ADD COLUMN given_version integer, ADD COLUMN given_at bigint;
