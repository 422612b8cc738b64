import type { components, paths } from '../../api/schema.generated.ts';

/** A body of unknown shape: its path is no operation, or is not known before run time. */
export type Untyped = Record<string, unknown>;

/** Key of an operation's path: without its query, and with `{}` in place of each parameter. */
type KeyOf<P extends string> = P extends `${infer Path}?${string}`
  ? KeyOf<Path>
  : P extends `${infer Head}/${infer Rest}`
    ? `${PartOf<Head>}/${KeyOf<Rest>}`
    : PartOf<P>;
type PartOf<S extends string> = string extends S ? '{}' : S extends `{${string}}` ? '{}' : FixedOf<S>;
/** The part of a path segment before a query that is not known before run time. */
type FixedOf<S extends string> = string extends S
  ? ''
  : S extends `${infer C}${infer Rest}`
    ? `${C}${FixedOf<Rest>}`
    : S;

type Paths = { [P in keyof paths as KeyOf<P>]: paths[P] };
type Operation<M extends string, K extends string> = K extends keyof Paths
  ? Lowercase<M> extends keyof Paths[K]
    ? Paths[K][Lowercase<M>]
    : never
  : never;

type JsonOf<R> = R extends { content: { 'application/json': infer Json } } ? Json : Untyped;
type Good = 200 | 201 | 202 | 204;
type GoodJson<O> = [O] extends [never]
  ? Untyped
  : O extends { responses: infer R }
    ? { [S in keyof R & Good]: JsonOf<R[S]> }[keyof R & Good]
    : Untyped;

type Problem = Partial<components['schemas']['Error']>;

/**
 * Type of a response body in the description, by method and path below `/v1`. It has the fields of a success and those
 * of an error: tests check the status to decide between them.
 */
export type AnswerJson<M extends string, P extends string> = WithProblem<GoodJson<Operation<M, KeyOf<P>>>>;
type WithProblem<Json> = Json extends unknown ? Json & Omit<Problem, keyof Json> : never;
