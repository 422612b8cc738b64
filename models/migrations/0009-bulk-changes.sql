-- Changes of many monitors at once: those that go on as a job, and those that are remembered under an idempotency key.
-- Times are Unix milliseconds.
CREATE TABLE bulk_changes (
  no              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id              text NOT NULL UNIQUE,
  tenant_id       text NOT NULL REFERENCES tenants ON DELETE CASCADE,
  idempotency_key text,
  request_hash    bytea,            -- of the request that came with the key
  action          text NOT NULL,
  sealed_patch    text,             -- until it is done: it may hold secrets of monitors
  actor_kind      text NOT NULL CHECK (actor_kind IN ('user', 'token')),
  actor_id        text NOT NULL,
  actor_name      text NOT NULL,
  address         text,
  status          text NOT NULL CHECK (status IN ('queued', 'running', 'done')),
  total           integer NOT NULL,
  done            integer NOT NULL DEFAULT 0,
  succeeded       integer NOT NULL DEFAULT 0,
  failed          integer NOT NULL DEFAULT 0,
  created_at      bigint NOT NULL,
  finished_at     bigint,
  served_at       bigint NOT NULL,  -- when its last batch began: the one that has waited longest is next
  claimed_until   bigint NOT NULL,  -- a process is at work on it until then
  notified_at     bigint NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, idempotency_key)
);
CREATE INDEX bulk_changes_unfinished ON bulk_changes (served_at) WHERE status <> 'done';
CREATE INDEX bulk_changes_tenant ON bulk_changes (tenant_id, no);

-- The monitors of each, in the order in which they were selected, and what came of them; a null status is still to do.
CREATE TABLE bulk_results (
  change_no  bigint NOT NULL REFERENCES bulk_changes ON DELETE CASCADE,
  position   integer NOT NULL,
  monitor_id text NOT NULL,
  name       text,
  status     integer,
  error      text,
  PRIMARY KEY (change_no, position)
);
