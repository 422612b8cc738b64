import zlib from 'node:zlib';
import test from 'ava';
import { bodyBudget, holdingBodies, OutOfBodyMemory } from '../../../net/body-budget.ts';
import { createDocumentFetch } from '../../../probes/vendors/fetch-document.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { until } from '../../helpers/until.ts';

const MIB = 1024 * 1024;
const UNKNOWN = { etag: null, lastModified: null };

test('slow custom pages of an account take no memory from catalog pages', async (t) => {
  const large = zlib.gzipSync(Buffer.alloc(5 * MIB - 1000, ' '));
  let finish = (): void => {};
  const { port } = await startHttpServer(t, ({ url }, response) => {
    if (url !== '/catalog') {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      return void response.write(large.subarray(0, -20));
    }
    response.write(' '.repeat(MIB));
    finish = () => response.end('{}');
  });
  const fetchDocument = createDocumentFetch({ allowPrivateNetwork: true });
  const ask = (path: string, isInCatalog: boolean) =>
    fetchDocument({ url: `http://127.0.0.1:${port}/${path}`, isInCatalog }, UNKNOWN);
  const catalog = ask('catalog', true);
  await until(() => bodyBudget.heldBytes > 0);
  // The catalog's page started first: among pages with equal shares it would be the first to be given up.
  const own = await holdingBodies('ten_1', async () =>
    Array.from({ length: 10 }, (_, no) => ask(`own/${no}`, false).catch((error: unknown) => error)),
  );
  t.true((await Promise.race(own)) instanceof OutOfBodyMemory);
  finish();
  t.like(await catalog, { outcome: 'changed', body: Buffer.from(`${' '.repeat(MIB)}{}`) });
});
