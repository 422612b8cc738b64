import { registerCompletionHandler } from 'ava';

// A file ends when its tests and hooks are over: what it still holds by then (sockets that nock never closes, idle
// connections) would keep the whole run from ending, and waiting for the loop to run dry leads into a spin of Node.js
// now and then (nodejs/node#47748).
registerCompletionHandler(() => process.exit());
