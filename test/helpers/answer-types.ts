import type { components, paths } from '../../api/schema.generated.ts';

/** A body of unknown shape: of a path that is no operation, or that is known at run time only. */
export type Untyped = Record<string, unknown>;

/** The key of an operation's path: without its query, and with `{}` for each part that a call fills in. */
type KeyOf<P extends string> = P extends `${infer Path}?${string}`
  ? KeyOf<Path>
  : P extends `${infer Head}/${infer Rest}`
    ? `${PartOf<Head>}/${KeyOf<Rest>}`
    : PartOf<P>;
type PartOf<S extends string> = string extends S ? '{}' : S extends `{${string}}` ? '{}' : FixedOf<S>;
/** The beginning of a part that ends in a query known at run time only. */
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
 * The body of an answer as the description has it, by method and path below `/v1`. It has the fields of a good answer
 * and those of an error: a test says by the status which of the two it awaits.
 */
export type AnswerJson<M extends string, P extends string> = WithProblem<GoodJson<Operation<M, KeyOf<P>>>>;
type WithProblem<Json> = Json extends unknown ? Json & Omit<Problem, keyof Json> : never;
