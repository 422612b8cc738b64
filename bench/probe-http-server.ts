import http from 'node:http';

// The target of the probe's benchmark, a process of its own so that its CPU is not counted.
const body = 'x'.repeat(Number(process.argv[2] ?? 100));

const server = http.createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html', 'Cache-Control': 'no-store' });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.once('disconnect', () => process.exit(0));
