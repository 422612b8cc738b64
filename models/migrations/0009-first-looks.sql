-- A source that is to look at its monitor without waiting for its next tick, from this moment on (Unix milliseconds): a new or resumed
-- monitor, or one whose checks were changed. Null = there is nothing to look at before the tick.
ALTER TABLE monitor_sources ADD COLUMN look_at bigint;
CREATE INDEX monitor_sources_looks ON monitor_sources (agent_no, look_at) WHERE look_at IS NOT NULL;
