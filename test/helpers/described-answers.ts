import addFormats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { BASE_PATH, readDescription } from '../../api/description.ts';

/** A received response, and its request. */
export type ReceivedAnswer = { method: string; path: string; status: number; contentType: string | null; body: string };

type Content = Record<string, { schema?: object }>;
type Described = { $ref?: string; content?: Content };
type PathItem = { servers?: { url: string }[] } & Record<string, { responses?: Record<string, Described> }>;

const DOCUMENT = 'description';

/**
 * Returns a function that describes how a response differs from the description; null if it does not, or if its path is
 * not described.
 */
export async function createAnswerCheck(): Promise<(answer: ReceivedAnswer) => string | null> {
  const description = await readDescription();
  // Other tests validate the schemas themselves; here each is used only a few times.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } });
  (addFormats as unknown as (to: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: DOCUMENT, components: description.components });
  const compiled = new Map<object, ValidateFunction>();
  const compile = (schema: object): ValidateFunction => {
    const known =
      compiled.get(schema) ??
      ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${DOCUMENT}#/components/`)));
    compiled.set(schema, known);
    return known;
  };
  const components = description.components as unknown as { responses: Record<string, Described> };
  const resolve = (described: Described): Described =>
    components.responses[described.$ref?.replace('#/components/responses/', '') ?? ''] ?? described;
  const routes = Object.entries(description.paths as unknown as Record<string, PathItem>)
    .map(([path, item]) => ({
      item,
      pattern: new RegExp(`^${baseOf(item)}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      isFixed: !path.includes('{'),
    }))
    .toSorted((a, b) => Number(b.isFixed) - Number(a.isFixed));

  return ({ method, path, status, contentType, body }) => {
    const responses = routes.find(({ pattern }) => pattern.test(path))?.item[method.toLowerCase()]?.responses;
    if (responses === undefined) return null;
    const described = responses[status] ?? responses['default'];
    if (described === undefined) return `the status ${status} is not described`;
    if (method === 'HEAD') return body === '' ? null : 'a body in an answer to HEAD';
    const { content } = resolve(described);
    if (content === undefined) return body === '' ? null : 'a body where none is described';
    const mediaType = contentType?.split(';')[0] ?? 'none';
    const schema = content[mediaType]?.schema;
    if (content[mediaType] === undefined) return `the media type ${mediaType} is not described`;
    if (schema === undefined || mediaType !== 'application/json') return null;
    const validate = compile(schema);
    return validate(JSON.parse(body)) ? null : ajv.errorsText(validate.errors);
  };
}

/** Returns the base path under which a path's operations are served. */
function baseOf({ servers }: PathItem): string {
  return servers === undefined
    ? BASE_PATH
    : new URL(servers[0]?.url ?? '/', 'http://localhost').pathname.replace(/\/$/, '');
}
