/**
 * Settings for one service on one machine, given on the command line so that a new release brings its own. Small rather
 * than fast: the operating system's cache does most of the caching, and an idle installation should not be felt.
 */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 100,
  timezone: 'UTC',
  log_timezone: 'UTC',

  shared_buffers: '64MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  // What a backup of a running server needs; one machine and no replicas: no processes that wait for work which never
  // comes.
  wal_level: 'replica',
  max_wal_senders: 0,
  max_logical_replication_workers: 0,
  max_parallel_workers: 0,
  max_parallel_workers_per_gather: 0,
  max_parallel_maintenance_workers: 0,
  io_method: 'sync',
  min_wal_size: '64MB',
  max_wal_size: '256MB',
  checkpoint_timeout: '10min',
  autovacuum_max_workers: 2,
  huge_pages: 'off',
  // Compiling costs more than any of our short queries.
  jit: 'off',
  // The queue's statements lock rows in changing order; a deadlock is found quickly and its victim tries again.
  deadlock_timeout: '50ms',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
} as const satisfies Record<string, string | number>;

/**
 * For databases that live as long as one test run, and serve many services at once: a killed server still recovers, a
 * power cut is not survived.
 */
const FORGETFUL = { fsync: 'off', full_page_writes: 'off', max_connections: 400 } as const;

/** The command-line arguments that carry the settings. */
export function settingArguments(isDurable: boolean): readonly string[] {
  return Object.entries({ ...SETTINGS, ...(isDurable ? {} : FORGETFUL) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
}
