import type { Description } from '../description.ts';
import { BASE_PATH, METHODS } from '../description.ts';

/** An operation as the validator looks it up: `expressRoute` is the path as Express writes it. */
export type DescribedRoute = { basePath: string; expressRoute: string; openApiRoute: string; method: string; pathParams: string[] };

/** The operations below `/v1` in the order in which they are tried: `/monitors/summary` before `/monitors/{id}`. */
export function listDescribedRoutes({ paths }: Pick<Description, 'paths'>): DescribedRoute[] {
  const routes = Object.keys(paths).flatMap((path) => METHODS.filter((method) => paths[path]?.[method] !== undefined).map((method) => routeOf(path, method)));
  return routes.toSorted((a, b) => compare(sortKeyOf(a), sortKeyOf(b)));
}

function routeOf(path: string, method: string): DescribedRoute {
  const openApiRoute = `${BASE_PATH}${path}`;
  const pathParams = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return { basePath: BASE_PATH, expressRoute: openApiRoute.replaceAll(/\{(\w+)\}/g, ':$1'), openApiRoute, method: method.toUpperCase(), pathParams };
}

/** A tilde comes after all letters: what is fixed goes before what is not. */
function sortKeyOf({ expressRoute }: DescribedRoute): string {
  return expressRoute.replaceAll('/:', '/~');
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a > b ? 1 : -1;
}
