import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { listDueChecks, type DueCheck } from '../../models/checks/checks.ts';
import { listOccupiedSlots } from '../../models/checks/schedule.ts';
import { createTcpProbe } from '../../probes/tcp.ts';
import { createUdpProbe } from '../../probes/udp.ts';
import { startRawServer } from '../helpers/http-server.ts';
import { startUdpServer } from '../helpers/udp-server.ts';
import { until } from '../helpers/until.ts';
import { isError, withApiServer, type ApiServer } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/** Returns the check that a worker receives when the monitor is due. */
async function dueCheckOf({ database }: ApiServer, id: unknown): Promise<DueCheck> {
  const regions = await listCheckRegions(database);
  for (const entry of await listOccupiedSlots(database, [...regions.keys()])) {
    const due = (await listDueChecks(database, entry)).find(({ monitorId }) => monitorId === id);
    if (due !== undefined) return due;
  }
  throw new Error(`${String(id)} is due nowhere`);
}

/** Servers that record received data as text, and echo it. */
const ECHOES = {
  async tcp(t: ExecutionContext<{ api: ApiServer }>) {
    const received: string[] = [];
    const { port } = await startRawServer(
      t as ExecutionContext,
      (socket) =>
        void socket.on('data', (piece) => {
          received.push(piece.toString('latin1'));
          socket.write(piece);
        }),
    );
    return { port, received: () => received };
  },
  async udp(t: ExecutionContext<{ api: ApiServer }>) {
    const { port, received } = await startUdpServer(t as ExecutionContext, (datagram, reply) => reply(datagram));
    return { port, received: () => received.map((datagram) => datagram.toString('latin1')) };
  },
};

const PROBES = { tcp: createTcpProbe, udp: createUdpProbe };

for (const type of ['tcp', 'udp'] as const) {
  test(
    `the secret payload of a ${type} monitor reaches its target, is shown nowhere, and survives a PATCH that ` +
      'preserves it',
    async (t) => {
      const { api } = t.context;
      const { owner, reader } = await api.account();
      const { port, received } = await ECHOES[type](t);
      const probe = PROBES[type]({ allowPrivateNetwork: true });
      const measure = async (id: unknown) => await probe((await dueCheckOf(api, id)).target);

      const transport = {
        payload: String.raw`s3cret\r\n`,
        payloadEncoding: 'utf8',
        payloadSecret: true,
        expect: 's3cret',
      };
      const created = await owner('POST', '/v1/monitors', {
        name: 'Door',
        type,
        target: `127.0.0.1:${port}`,
        check_spec: { transport },
      });
      t.is(created.status, 201, created.text);
      const path = `/v1/monitors/${created.json['id']}`;
      t.deepEqual((await reader('GET', path)).json['check_spec'], {
        transport: { payloadEncoding: 'utf8', payloadSecret: true, expect: 's3cret' },
      });
      const { rows } = await api.database.pool.query('SELECT m.sealed_secrets FROM monitors m WHERE id = $1', [
        created.json['id'],
      ]);
      t.false(JSON.stringify(rows).includes('s3cret'));
      t.is((await measure(created.json['id'])).type, type);
      t.deepEqual(received(), ['s3cret\r\n']);

      const kept = await owner('PATCH', path, {
        check_spec: { transport: { payloadSecret: true, preservePayload: true, expect: 'cret' } },
      });
      t.is(kept.status, 200, kept.text);
      t.deepEqual((await reader('GET', path)).json['check_spec'], {
        transport: { payloadSecret: true, expect: 'cret' },
      });
      const renamed = await owner('PATCH', path, { name: 'Gate' });
      t.is(renamed.status, 200, renamed.text);
      await measure(created.json['id']);
      t.deepEqual(received(), ['s3cret\r\n', 's3cret\r\n']);

      await owner('PATCH', path, { check_spec: { transport: { payload: 'open' } } });
      await measure(created.json['id']);
      t.is(await until(() => received()[2]), 'open');
      isError(
        t,
        await owner('PATCH', path, { check_spec: { transport: { payloadSecret: true, preservePayload: true } } }),
        { status: 400, error: /preservePayload has nothing to keep/ },
      );
      t.false(JSON.stringify(api.logLines).includes('s3cret'));
    },
  );
}
