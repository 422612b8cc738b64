// Name lookups wait in libuv's pool, which lets them use half of its threads: with two of four, one slow resolver would
// hold up every check. 256 threads take a megabyte more than 64, and `net/host-address.ts` counts on them. The size is
// read when the pool is first used, which some packages do on import, so entry files import this module before anything
// else.
process.env['UV_THREADPOOL_SIZE'] ??= '256';
