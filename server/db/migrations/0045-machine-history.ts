import type { Migration } from '../migration.ts'

/** Load and memory of the machines of the service, by the hour. A new, small table: 90 days of each machine. */
export const machineHistory: Migration = {
  name: '0045-machine-history',
  up: `
    -- an hour without a row was not measured, which is not the same as idle
    create table machine_sample (
      machine text collate "C" not null,
      at timestamptz not null,             -- the hour
      last_at timestamptz not null,
      cores int not null,
      samples int not null,
      load_sum float8 not null,
      load_most float8 not null,
      -- of these, those that could read the memory
      memory_samples int not null,
      memory_used_sum_mb bigint not null,
      memory_used_most_mb int not null,
      memory_total_mb int not null,
      primary key (machine, at)
    );
    create index machine_sample_at on machine_sample (at);
  `,
}
