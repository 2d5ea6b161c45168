import type { Migration } from '../migration.ts'

/**
 * Versions of Maven registries whose files arrive one by one: those that are here, and checksums that came before their
 * file. Locks nothing but the new tables.
 */
export const mavenDeploys: Migration = {
  name: '0048-maven-deploys',
  up: `
    create table maven_arrived (
      codename  text collate "C" not null,
      name      text collate "C" not null,
      version   text collate "C" not null,          -- as the names of the files say it
      path      text collate "C" not null,
      kept      text not null unique,               -- its name in .deploys/
      sender    text not null,
      ip        text not null,
      sha256    text not null,
      size      bigint not null,
      md5       text not null,
      sha1      text not null,
      sha512    text not null,
      begun_at  timestamptz not null,
      at        timestamptz not null,               -- of the last file or checksum of its version
      build     text,                               -- of a snapshot whose files name no build: what it becomes
      primary key (codename, name, version, path)
    );

    create table maven_said (
      codename  text collate "C" not null,
      name      text collate "C" not null,
      version   text collate "C" not null,
      path      text collate "C" not null,
      algorithm text not null,
      digest    text not null,
      at        timestamptz not null,
      primary key (codename, name, version, path, algorithm)
    );
  `,
}
