import type { Migration } from '../migration.ts'

/** Open findings by day, distribution and severity. New tables, empty until the first count. */
export const postureHistory: Migration = {
  name: '0044-posture-history',
  up: `
    -- a day without a row was not counted, which is not the same as none
    create table posture_day (
      day        date not null,               -- in UTC
      codename   text collate "C" not null,
      taken_at   timestamptz not null,
      packages   int not null,                -- served and waiting
      not_looked int not null,                -- of these, without an answer of any engine
      primary key (day, codename)
    );
    create table finding_day (
      day      date not null,
      codename text collate "C" not null,
      severity text not null,
      open     int not null,
      -- since the count before; null where there is none
      appeared int,
      gone     int,
      primary key (day, codename, severity),
      foreign key (day, codename) references posture_day on delete cascade
    );
  `,
}
