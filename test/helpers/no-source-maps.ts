// Ava has Node read the map of every source that names one. Ours run as they are written, and reading those of all
// packages takes a test file longer than many a test.
process.setSourceMapsEnabled(false);
