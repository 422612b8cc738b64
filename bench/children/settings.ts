/** Returns the settings that the parent passed as the only argument, as JSON. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** Responds to every message of the parent; exits when the parent is gone. */
export function answer<Message>(respond: (message: Message) => unknown): void {
  process.on('message', (message: Message) => {
    void Promise.resolve(respond(message)).then((reply) => process.send?.(reply ?? null));
  });
  process.once('disconnect', () => process.exit(0));
}

/** Reports to the parent that the child is ready. */
export function ready(what: unknown): void {
  process.send?.(what);
}
