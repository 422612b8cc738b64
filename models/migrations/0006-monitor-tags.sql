-- Tags, `word` or `key:value`, sorted and each once.
ALTER TABLE monitors ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
