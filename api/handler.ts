import type { RequestHandler } from 'express';
import type { operations } from './schema.generated.ts';

/** Operations that are served elsewhere: without a token, or at the root. */
type ServedElsewhere = 'getDescription' | `agent${string}` | `pingHeartbeat${string}` | `on${string}`;

/** The described operations below `/v1`, by their ids in the description. */
export type OperationId = Exclude<keyof operations, ServedElsewhere>;

type Present<Type, Absent> = [NonNullable<Type>] extends [never] ? Absent : NonNullable<Type>;
type ContentOf<Message> = Message extends { content: infer Types } ? Types[keyof Types] : undefined;
type Responses<Id extends OperationId> = operations[Id]['responses'];

/** The body of an operation's requests; undefined where it takes none, or one may be left out. */
export type Body<Id extends OperationId> = ContentOf<operations[Id]['requestBody']>;

/** The query parameters that an operation knows, read as numbers where the description says so. */
export type Query<Id extends OperationId> = Present<operations[Id]['parameters']['query'], Record<string, never>>;

/** What an operation answers with where it succeeds, in any of its forms; undefined where that is nothing. */
export type Answer<Id extends OperationId> = ContentOf<Responses<Id>[keyof Responses<Id> & (200 | 201 | 202 | 204)]>;

/**
 * Answers the requests of an operation, which have the shape that the description gives them: the router lets no others
 * through.
 */
export type Handler<Id extends OperationId> = RequestHandler<
  Present<operations[Id]['parameters']['path'], Record<never, string>>,
  Answer<Id>,
  Body<Id>,
  Query<Id>
>;
