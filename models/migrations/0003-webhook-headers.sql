-- Headers that a webhook's owner adds to its deliveries: the names are shown, the map is sealed as JSON.
ALTER TABLE channels ADD COLUMN sealed_headers text;
ALTER TABLE channels ADD COLUMN header_names text[];
