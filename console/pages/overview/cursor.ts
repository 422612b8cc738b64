import { signal } from '@preact/signals';

/** The monitor that the keyboard is at, by its id; it is still there when one comes back from its page. */
export const cursor = signal<string | null>(null);
