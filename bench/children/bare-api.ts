import { once } from 'node:events';
import { createServer } from 'node:http';
import express from 'express';
import { openDatabase } from '../../models/database.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { answer, readSettings, ready } from './settings.ts';

// The reference for the API: Express, the same query, JSON; without our tokens, limits, validation, logs and headers.
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
