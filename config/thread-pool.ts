// Lookups of names wait in libuv's pool, which lets them have half of its threads: two of four would let one slow
// resolver hold up every check. 256 take a megabyte more than 64, and `net/host-address.ts` counts on them. The size is
// read when the pool is first used, which some packages do while they load: entry files import this before anything
// else.
process.env['UV_THREADPOOL_SIZE'] ??= '256';
