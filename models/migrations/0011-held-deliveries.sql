-- Deliveries that wait for the end of maintenance, each with its occurrence.
CREATE TABLE held_deliveries (
  delivery_id   text PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
  occurrence_no bigint NOT NULL
);
CREATE INDEX held_deliveries_occurrence ON held_deliveries (occurrence_no);
