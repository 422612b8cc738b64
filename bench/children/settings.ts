/** What the parent gave this child to work with: the one argument, as JSON. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** Answers every message of the parent; a parent that is gone ends the child. */
export function answer<Message>(respond: (message: Message) => unknown): void {
  process.on('message', (message: Message) => {
    void Promise.resolve(respond(message)).then((reply) => process.send?.(reply ?? null));
  });
  process.once('disconnect', () => process.exit(0));
}

/** Tells the parent that the child is ready, and with what. */
export function ready(what: unknown): void {
  process.send?.(what);
}
