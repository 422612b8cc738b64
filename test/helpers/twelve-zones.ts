/**
 * Twelve zones, each with two years in which the zone databases of Node and PostgreSQL agree. If a zone ever
 * changes its clocks, it does in these years: by half an hour, at midnight, for Ramadan, or by a whole day.
 */
export const TWELVE_ZONES: readonly (readonly [zone: string, year: number])[] = [
  ['UTC', 2024],
  ['Europe/Berlin', 2024],
  ['America/New_York', 2024],
  ['Australia/Lord_Howe', 2024],
  ['Pacific/Chatham', 2024],
  ['Australia/Sydney', 2024],
  ['Africa/Casablanca', 2024],
  ['Asia/Kolkata', 2024],
  ['Asia/Kathmandu', 2024],
  ['Asia/Tehran', 2021],
  ['America/Sao_Paulo', 2017],
  ['Pacific/Apia', 2011],
];
