import type { Request } from 'express';
import { error as validatorErrors } from 'express-openapi-validator';
import { READ_ONLY_FIELDS } from '../core/monitor-input/fields.ts';
import { badRequest } from './api-error.ts';
import { bodySchema, querySchema, type Description } from './description.ts';
import { describeComplaints, type Complaint } from './validation-message.ts';

/** What was asked: the description, the path as the description writes it, and the request itself. */
type RefusedRequest = { description: Description; path: string; request: Request };

/**
 * The validator's refusal in our words; anything that is no refusal of the request is passed on as the fault that it
 * is.
 */
export function explainRefusal(refusal: unknown, requested: RefusedRequest): unknown {
  if (!(refusal instanceof validatorErrors.BadRequest)) return refusal;
  return badRequest(...sentencesOf(refusal.errors, requested));
}

type ValidatorError = { path: string; message: string; errorCode?: string };

function sentencesOf(errors: readonly ValidatorError[], requested: RefusedRequest): string[] {
  const { description, path, request } = requested;
  const complaints = errors.map(({ path: pointer, message, errorCode }): Complaint => ({
    path: pointer,
    message,
    keyword: errorCode?.split('.')[0] ?? '',
  }));
  const inBody = complaints.filter((complaint) => complaint.path === '/body' || complaint.path.startsWith('/body/'));
  // Of several complaints about one parameter the last says most: what it must be, not what type of value.
  const inQuery = new Map(
    complaints
      .filter((complaint) => complaint.path.startsWith('/query/'))
      .map((complaint) => [complaint.path, complaint]),
  );
  const bodySentences = describeComplaints(
    inBody.map((complaint) => ({ ...complaint, path: complaint.path.slice('/body'.length) })),
    {
      description,
      schema: bodySchema(description, path, request.method),
      value: request.body,
      readOnly: readOnlyFields(path),
    },
  );
  const querySentences = [...inQuery.values()].flatMap((complaint) => describeQuery(complaint, requested));
  const sentences = [...bodySentences, ...querySentences];
  // What is neither about the body nor about the query is about the path: an id that cannot be decoded.
  return sentences.length > 0 ? sentences : ['the path must be percent-encoded UTF-8'];
}

/** The fields of a body at this path that only reads have. */
function readOnlyFields(path: string): readonly string[] {
  if (path === '/trials') return READ_ONLY_FIELDS.map((name) => `monitor.${name}`);
  return path.startsWith('/monitors') ? READ_ONLY_FIELDS : [];
}

function describeQuery(complaint: Complaint, { description, path, request }: RefusedRequest): string[] {
  const name = complaint.path.slice('/query/'.length);
  const schema = querySchema(description, path, name);
  if (schema === undefined) return [`${name} is not a known query parameter here`];
  return describeComplaints([{ ...complaint, path: `/${name}` }], {
    description,
    schema: { properties: { [name]: schema } },
    value: request.query,
    readOnly: [],
  });
}
