// Lookups of names wait in libuv's pool, whose four threads would let one slow resolver hold up every check. Its size
// is read when the pool is first used, which some packages do while they load: entry files import this before anything
// else.
process.env['UV_THREADPOOL_SIZE'] ??= '64';
