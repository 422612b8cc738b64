import { argon2Sync, type Argon2Parameters } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

// This is the thread of models/secrets/password.ts: it responds to parameters with their tag, or with the error.
parentPort?.on('message', (parameters: Argon2Parameters) => {
  parentPort?.postMessage(answerTo(parameters), []);
});

function answerTo(parameters: Argon2Parameters): Uint8Array | unknown {
  try {
    return argon2Sync('argon2id', parameters);
  } catch (error) {
    return error;
  }
}
