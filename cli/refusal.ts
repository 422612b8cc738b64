/**
 * Something that a command will not or cannot do; its message is the one line that the operator sees. Exit status 1.
 */
export class Refusal extends Error {
  override name = 'Refusal';
}
