/** The settings that the parent passed as the one argument, as JSON. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** Responds to every message of the parent; ends when the parent is gone. */
export function answer<Message>(respond: (message: Message) => unknown): void {
  process.on('message', (message: Message) => {
    void Promise.resolve(respond(message)).then((reply) => process.send?.(reply ?? null));
  });
  process.once('disconnect', () => process.exit(0));
}

/** Sends the parent the message that the child is ready. */
export function ready(what: unknown): void {
  process.send?.(what);
}
