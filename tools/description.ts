import { randomUUID } from 'node:crypto';
import { glob, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { descriptionFile, descriptionJson } from '../api/description.ts';
import { apiTypes } from './api-types.ts';

/** Generates from api/openapi.yaml the files that programs and the type check read; git ignores them. */
const api = new URL('../api/', import.meta.url);
const yaml = await readFile(new URL('openapi.yaml', api), 'utf8');
const json = await descriptionJson(yaml);
const made = descriptionFile(yaml);
const types = apiTypes(JSON.parse(json));
await put(made, json);
await put('schema.generated.ts', `// Made from openapi.yaml by npm run prepare; do not edit.\n\n${types}`);
for await (const name of glob('openapi.generated*.json', { cwd: api }))
  if (name !== made) await rm(new URL(name, api), { force: true });

/** Writes a file in one step, so that several runs may do so at once; skips an unchanged file. */
async function put(name: string, content: string): Promise<void> {
  if ((await readFile(new URL(name, api), 'utf8').catch(() => null)) === content) return;
  const temporary = new URL(`${name}.${randomUUID()}`, api);
  try {
    await writeFile(temporary, content);
    await rename(temporary, new URL(name, api));
  } finally {
    await rm(temporary, { force: true });
  }
}
