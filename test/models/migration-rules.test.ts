import test from 'ava';
import { listMigrationFiles } from '../../models/migrate.ts';

/** Changes that a migration must not make to existing tables, and why. `{table}` stands for such a table. */
const RULES: readonly [forbidden: RegExp, why: string][] = [
  [/^DROP (TABLE|VIEW|TYPE|FUNCTION|SCHEMA|SEQUENCE)\b/, 'the release before still uses it'],
  [
    /^ALTER\b.*\bDROP (COLUMN|EXPRESSION|IDENTITY|DEFAULT)\b/,
    'the release before still reads or leaves out that column',
  ],
  [/\bRENAME\b/, 'the release before knows the old name'],
  [
    /^(CREATE OR REPLACE|ALTER) (FUNCTION|VIEW)\b/,
    'the release before still asks it: a changed condition gets a name of its own',
  ],
  [/^ALTER TABLE\b.*\b(ALTER|ALTER COLUMN) \w+ (SET DATA )?TYPE\b/, 'it rewrites the table under a lock'],
  [/^ALTER TABLE\b.*\bADD (COLUMN )?(?!CONSTRAINT)[^,]*\bGENERATED\b/, 'it rewrites the table under a lock'],
  [/^ALTER TABLE\b.*\bADD (COLUMN )?[^,]*\bDEFAULT (\(|\w+ ?\()/, 'a computed default rewrites the table under a lock'],
  [
    /^ALTER TABLE\b.*\bADD (COLUMN )?(?!CONSTRAINT)(?![^,]*\bDEFAULT\b)[^,]*\bNOT NULL\b/,
    'the release before inserts rows without it',
  ],
  [
    /^ALTER TABLE\b.*\bADD (COLUMN )?(?!CONSTRAINT)[^,]*\b(UNIQUE|PRIMARY KEY|REFERENCES|CHECK)\b/,
    'it reads the whole table under a lock: add the constraint NOT VALID, on its own',
  ],
  [/^ALTER TABLE\b.*\bSET NOT NULL\b/, 'the release before may write a null, and the whole table is read under a lock'],
  [
    /^ALTER TABLE\b.*\bADD CONSTRAINT\b(?!.*\bNOT VALID\b)/,
    'it reads the whole table under a lock: add it NOT VALID, and validate it later',
  ],
  [/^ALTER TABLE\b.*\bSET (LOGGED|UNLOGGED|TABLESPACE|ACCESS METHOD)\b/, 'it rewrites the table under a lock'],
  [/^CREATE (UNIQUE )?INDEX\b/, 'nothing can be written to the table while it is built'],
  [/^(UPDATE|DELETE|TRUNCATE|MERGE)\b/, 'its rows are locked for as long as it takes: let a chore do it'],
  [
    /^(CLUSTER|VACUUM|REINDEX|LOCK|REFRESH|BEGIN|COMMIT|SET|RESET)\b/,
    'each migration is one transaction with a short wait for locks',
  ],
];

/** Returns the statements of a file, one line each, without comments and string contents. */
function statementsOf(sql: string): string[] {
  const bare = sql.replaceAll(/--[^\n]*|'(?:[^']|'')*'/g, (found) => (found.startsWith('--') ? '' : "''"));
  return bare
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** Returns the violations in a migration, one line each. */
function violations(sql: string): string[] {
  const statements = statementsOf(sql);
  const made = new Set(
    statements.flatMap(
      (statement) => /^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/i.exec(statement)?.[1] ?? [],
    ),
  );
  const onOthers = statements.filter((statement) => !made.has(tableOf(statement)));
  const changed = new Set(onOthers.map(tableOf).filter((table) => table !== ''));
  return [
    ...(changed.size > 1
      ? [
          `${[...changed].join(', ')}: whoever holds the lock of one and waits for another's can be in a circle ` +
            'with the traffic: a migration for each',
        ]
      : []),
    ...onOthers.flatMap((statement) =>
      RULES.flatMap(([forbidden, why]) => (new RegExp(forbidden, 'i').test(statement) ? [`${statement}: ${why}`] : [])),
    ),
  ];
}

const CHANGES = [
  'ALTER TABLE (?:IF EXISTS )?(?:ONLY )?',
  'UPDATE (?:ONLY )?',
  'DELETE FROM (?:ONLY )?',
  String.raw`CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?\w+ ON (?:ONLY )?`,
];
const CHANGE_OF_TABLE = new RegExp(String.raw`^(?:${CHANGES.join('|')})(\w+)`, 'i');

/** Returns the table that a statement changes; empty if it names none. */
function tableOf(statement: string): string {
  const found = CHANGE_OF_TABLE.exec(statement);
  return found?.[1] ?? '';
}

test('no migration breaks the previous release or locks a table in use', async (t) => {
  const [schema, ...later] = await listMigrationFiles();
  t.is(schema?.name, '0001-schema.sql');
  for (const { name, sql } of later) t.deepEqual(violations(sql), [], name);
});

test('migrations are numbered without gaps or duplicates, so that they apply in one order everywhere', async (t) => {
  const names = (await listMigrationFiles()).map(({ name }) => name);
  t.deepEqual(
    names.map((name) => name.slice(0, 5)),
    names.map((_, index) => `${String(index + 1).padStart(4, '0')}-`),
  );
});

const BAD: readonly string[] = [
  'DROP TABLE monitors',
  'alter table monitors drop column target',
  'ALTER TABLE monitors RENAME COLUMN target TO aim',
  'ALTER TABLE monitors RENAME TO watched',
  'CREATE OR REPLACE FUNCTION is_due(at bigint) RETURNS boolean LANGUAGE sql RETURN true',
  'ALTER FUNCTION is_due STRICT',
  'ALTER TABLE check_results ALTER COLUMN latency_ms TYPE bigint',
  'ALTER TABLE deliveries ADD COLUMN no bigint GENERATED ALWAYS AS IDENTITY',
  'ALTER TABLE deliveries ADD COLUMN at timestamptz DEFAULT clock_timestamp()',
  'ALTER TABLE deliveries ADD COLUMN why text NOT NULL',
  'ALTER TABLE deliveries ADD COLUMN why text, ADD COLUMN how text NOT NULL',
  'ALTER TABLE deliveries ADD COLUMN parent text REFERENCES deliveries',
  'ALTER TABLE deliveries ALTER COLUMN monitor_id SET NOT NULL',
  `ALTER TABLE deliveries ADD CONSTRAINT known CHECK (event IN ('a', 'b'))`,
  'CREATE INDEX slow ON deliveries (event)',
  'CREATE INDEX -- why; not\n slow ON deliveries (event)',
  `UPDATE monitors SET name = 'x; y'`,
  'DELETE FROM deliveries',
  'LOCK TABLE monitors',
  'ALTER TABLE monitors ADD COLUMN a text; ALTER TABLE deliveries ADD COLUMN a text',
];
for (const sql of BAD)
  test(`must not be in a migration: ${sql.replaceAll(/\s+/g, ' ')}`, (t) =>
    t.is(violations(`CREATE TABLE other (a int);\n${sql};`).length > 0, true));

const GOOD: readonly string[] = [
  'CREATE TABLE a (b text NOT NULL REFERENCES monitors, c bigint GENERATED ALWAYS AS IDENTITY); CREATE INDEX a_b ' +
    'ON a (b); ALTER TABLE a ADD COLUMN d text NOT NULL; UPDATE a SET d = b',
  'ALTER TABLE deliveries ADD COLUMN why text',
  "ALTER TABLE deliveries ADD COLUMN why text NOT NULL DEFAULT 'none', ADD COLUMN times integer NOT NULL DEFAULT 0",
  `ALTER TABLE deliveries DROP CONSTRAINT deliveries_outcome_check,
   ADD CONSTRAINT deliveries_outcome_check CHECK (outcome IN ('a')) NOT VALID`,
  'ALTER TABLE deliveries ALTER COLUMN attempts SET DEFAULT 1',
  'DROP INDEX deliveries_pending',
  `-- DROP TABLE monitors;\nINSERT INTO service_marks VALUES ('DROP TABLE monitors; ', 1, 1)`,
];
for (const sql of GOOD)
  test(`may be in a migration: ${sql.replaceAll(/\s+/g, ' ')}`, (t) => t.deepEqual(violations(sql), []));
