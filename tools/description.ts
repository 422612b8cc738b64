import { readFile, writeFile } from 'node:fs/promises';
import { descriptionJson } from './description-json.ts';

const api = new URL('../api/', import.meta.url);
await writeFile(
  new URL('openapi.generated.json', api),
  descriptionJson(await readFile(new URL('openapi.yaml', api), 'utf8')),
);
