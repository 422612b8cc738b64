import { once } from 'node:events';
import { createServer } from 'node:http';
import express from 'express';
import { openDatabase } from '../../models/database.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { answer, readSettings, ready } from './settings.ts';

// The limit that the API is held against: Express, the same query, JSON; no token, limit, validation, log or header of
// ours.
const { databaseUrl, tenantId } = readSettings<{ databaseUrl: string; tenantId: string }>();
const database = openDatabase({
  databaseUrl,
  secrets: createSecretBox([{ id: 'bench', key: Buffer.alloc(32) }]),
  poolSize: 10,
});

const app = express();
app.get('/:id', async (request, response) => {
  response.json(await findMonitor(database, { tenantId, id: request.params.id }));
});
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
answer(() => null);
ready(typeof address === 'object' ? address?.port : null);
