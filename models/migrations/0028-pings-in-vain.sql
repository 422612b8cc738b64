-- Since when and until when pings came that could not be stored and that nobody is forgiven for yet, in Unix milliseconds: of the mark `pings` alone.
-- Null = there are none.
ALTER TABLE service_marks ADD COLUMN lost_from bigint, ADD COLUMN lost_to bigint;
