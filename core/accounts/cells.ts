/**
 * What the texts of tokens say about the cell that made them (docs/cells.md). A name has no underscore and no dot, so
 * that it ends at the first one, and the random part of a token has a length of its own: no token of an installation
 * without a name is taken for one with it.
 */
const CELL_NAME = '[a-z][a-z0-9]{0,15}';

/** The random part of a token: 32 bytes in base64url. */
const SECRET = '[A-Za-z0-9_-]{43}';

const NAMED_TOKEN = new RegExp(`^sp[kawp]_(${CELL_NAME})_${SECRET}$`);
const NAMED_PING_TOKEN = new RegExp(`^(${CELL_NAME})\\.mon_[^.]+\\.[^.]+$`);

/** A new token: its prefix, the name of the cell (null = it has none), and the random part. */
export function writeToken(prefix: 'spk' | 'spa' | 'spw' | 'spp', cell: string | null, secret: string): string {
  return cell === null ? `${prefix}_${secret}` : `${prefix}_${cell}_${secret}`;
}

/** A heartbeat's new token: the name of the cell (null = it has none), the monitor's id, and the random part. */
export function writePingToken(monitorId: string, cell: string | null, secret: string): string {
  return cell === null ? `${monitorId}.${secret}` : `${cell}.${monitorId}.${secret}`;
}

/** The cell that a token of the API, an agent or a wallboard, or a ping key names; null where it names none. */
export function cellOfToken(token: string): string | null {
  return NAMED_TOKEN.exec(token)?.[1] ?? null;
}

/** The cell that a heartbeat's token names; null where it names none. */
export function cellOfPingToken(token: string): string | null {
  return NAMED_PING_TOKEN.exec(token)?.[1] ?? null;
}

/** Which cell an exchange belongs to, by what it shows; null = it names none. */
export function cellOfRequest({
  pingToken,
  bearerToken,
  chosenCell,
}: {
  /** The token or the ping key in the path of a ping; null for every other path. */
  pingToken: string | null;
  /** What stands behind `Bearer`, good or not; null where another kind of credentials or none came. */
  bearerToken: string | null;
  /** What the browser's cookie says; null without one. */
  chosenCell: string | null;
}): string | null {
  if (pingToken !== null) return cellOfPingToken(pingToken) ?? cellOfToken(pingToken);
  return bearerToken === null ? chosenCell : cellOfToken(bearerToken);
}
