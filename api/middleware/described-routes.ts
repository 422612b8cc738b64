import { type Description, type Method, BASE_PATH, METHODS } from '../description.ts';

/** An operation as the validator looks it up: `expressRoute` is the path as Express writes it. */
export type DescribedRoute = {
  basePath: string;
  expressRoute: string;
  openApiRoute: string;
  method: string;
  pathParams: string[];
};

/** The operations below `/v1` in the order in which they are tried: `/monitors/summary` before `/monitors/{id}`. */
export function listDescribedRoutes({ paths }: Pick<Description, 'paths'>): DescribedRoute[] {
  const routes = Object.keys(paths).flatMap((path) =>
    METHODS.filter((method) => paths[path]?.[method] !== undefined).map((method) => routeOf(path, method)),
  );
  return routes.toSorted((a, b) => compare(sortKeyOf(a), sortKeyOf(b)));
}

/**
 * A described path that a request's path is one of, and what stands there for its parameters. `methods` are those that
 * it knows.
 */
export type FoundPath = Pick<DescribedRoute, 'expressRoute' | 'openApiRoute'> & {
  methods: readonly Method[];
  pathParams: Record<string, string>;
};

/**
 * Makes what finds the described path of a request's. The validator would build every path's expression anew for each
 * request. The found one is null where there is none; throws an URIError where a parameter cannot be decoded.
 */
export function createPathFinder(description: Pick<Description, 'paths'>): (path: string) => FoundPath | null {
  const byPath = Map.groupBy(listDescribedRoutes(description), ({ expressRoute }) => expressRoute);
  const known = [...byPath.values()].flatMap(([first]) => {
    if (first === undefined) return [];
    const { expressRoute, openApiRoute, pathParams: names } = first;
    const item = description.paths[openApiRoute.slice(BASE_PATH.length)];
    const methods = METHODS.filter((method) => item?.[method] !== undefined);
    // As Express reads paths: a slash at the end changes nothing.
    const pattern = new RegExp(`^${openApiRoute.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '([^/]+)')}/?$`);
    return [{ expressRoute, openApiRoute, names, methods, pattern }];
  });
  return (path) => {
    for (const { pattern, names, ...found } of known) {
      const match = pattern.exec(path);
      if (match !== null)
        return {
          ...found,
          pathParams: Object.fromEntries(
            names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')]),
          ),
        };
    }
    return null;
  };
}

function routeOf(path: string, method: string): DescribedRoute {
  const openApiRoute = `${BASE_PATH}${path}`;
  const pathParams = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    basePath: BASE_PATH,
    expressRoute: openApiRoute.replaceAll(/\{(\w+)\}/g, ':$1'),
    openApiRoute,
    method: method.toUpperCase(),
    pathParams,
  };
}

/** A tilde comes after all letters: what is fixed goes before what is not. */
function sortKeyOf({ expressRoute }: DescribedRoute): string {
  return expressRoute.replaceAll('/:', '/~');
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a > b ? 1 : -1;
}
