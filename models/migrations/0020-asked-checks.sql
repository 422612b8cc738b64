-- When somebody asked last that a customer's agent look at a monitor out of turn, in Unix seconds; the agent sees it at its next check-in, as another
-- value than before. The service's own agents are told by `look_at` and the queue instead.
ALTER TABLE monitor_sources ADD COLUMN asked_at bigint;
