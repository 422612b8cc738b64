import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const COMPRESSIBLE = /\.(js|css|html|svg|json)$/;

/** Sizes of a file in bytes: as it is, and as it goes over the line. */
export type FileSize = { path: string; bytes: number; gzip: number; brotli: number };

/** Puts a `.br` and a `.gz` beside each file of a folder that gets smaller by it, and gives the sizes of those. */
export async function compressFiles(folder: string): Promise<FileSize[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && COMPRESSIBLE.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return await Promise.all(files.map((path) => compressFile(path, folder)));
}

async function compressFile(path: string, folder: string): Promise<FileSize> {
  const bytes = await readFile(path);
  const [zipped, brotli] = await Promise.all([
    promisify(gzip)(bytes, { level: 9 }),
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  ]);
  await Promise.all([writeFile(`${path}.gz`, zipped), writeFile(`${path}.br`, brotli)]);
  return { path: path.slice(folder.length + 1), bytes: bytes.length, gzip: zipped.length, brotli: brotli.length };
}
