import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const description = new URL('../../api/openapi.yaml', import.meta.url);
const target = new URL('../../api/schema.generated.ts', import.meta.url);

// test/api/description.test.ts compares this hash with the description's own.
const hash = createHash('sha256')
  .update(await readFile(description))
  .digest('hex');
const types = astToString(
  await openapiTS(description, {
    alphabetize: false,
    exportType: true,
    emptyObjectsUnknown: true,
    defaultNonNullable: false,
  }),
);

await writeFile(
  target,
  `// Made from openapi.yaml by npm run openapi:types; do not edit.\n// openapi.yaml sha256 ${hash}\n\n${types}`,
);
