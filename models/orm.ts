import { createRequire } from 'node:module';
import type { Pool, PoolClient } from 'pg';
import type * as Package from 'sequelize';
import type { Sequelize, Transaction, WhereOptions } from 'sequelize';
import { lendClient, takeBackClient } from './sql.ts';

/** A connection as the ORM gives it back: it marks those that it knows to be broken. */
type ReturnedClient = PoolClient & { _invalid?: boolean };

const require = createRequire(import.meta.url);

/**
 * The package of the ORM, loaded by the first call. It takes 0.1 s and 250 files, and most processes of workers edit
 * nothing.
 */
export function sequelize(): typeof Package {
  return require('sequelize') as typeof Package;
}

/** Makes an ORM that runs its statements on connections of a pool, and so has none of its own. */
export function ormOn(pool: Pool): Sequelize {
  const orm = new (sequelize().Sequelize)({
    dialect: 'postgres',
    logging: false,
    define: { timestamps: false, underscored: true, freezeTableName: true },
  });
  // The two ways in which each of its statements gets a connection and returns it; its own pool stays empty.
  Object.assign(orm.connectionManager, {
    getConnection: () => lendClient(pool),
    releaseConnection: (client: ReturnedClient) => takeBackClient(client, client._invalid !== true),
  });
  return orm;
}

/**
 * The transaction that a client is in, as calls of the ORM's records take it: they then run on that client. It begins
 * and ends with `inTransaction`.
 */
export function transactionOn({ orm }: { orm: Sequelize }, client: PoolClient): Transaction {
  return Object.assign(new (sequelize().Transaction)(orm, {}), { connection: client });
}

/** The condition of a page that begins after an entry, in a list by creation, then id; none for the first page. */
export function behind(after: { createdAt: number; id: string } | undefined): WhereOptions[] {
  if (after === undefined) return [];
  const { Op } = sequelize();
  const { createdAt, id } = after;
  return [{ [Op.or]: [{ createdAt: { [Op.gt]: createdAt } }, { createdAt, id: { [Op.gt]: id } }] }];
}
