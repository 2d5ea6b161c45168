import type { Migration } from '../migration.ts'

const RANK = `case severity when 'critical' then 6 when 'high' then 5 when 'medium' then 4 when 'unknown' then 3 when 'low' then 2 else 1 end`

/**
 * Findings, decisions and deadlines as rows. Adds nullable columns (an instant lock on `package`), then reads the
 * findings of every manifest once: about a second for 100,000 packages, which are locked for as long.
 */
export const review: Migration = {
  name: '0006-review',
  up: `
    alter table package
      add column held_at      timestamptz,  -- since when it waits for a decision
      add column assignee     text,
      add column open_worst   text,         -- of the findings that nobody accepted: the worst severity,
      add column open_rank    smallint not null default 0, -- its rank, 6 critical to 1 negligible, 0 for none,
      add column open_count   int not null default 0,
      add column open_epss    real,
      add column open_kev     boolean not null default false,
      add column reopens_at   timestamptz,  -- when the next acceptance ends that it leans on
      add column scanned_at   timestamptz;  -- by a nightly look; no index, so that writing it touches none
    create index package_held on package (held_at) where state = 'pending_review';
    create index package_reopens on package (reopens_at) where reopens_at is not null;

    create table finding (
      package_id     bigint not null references package on delete cascade,
      cve            text collate "C" not null,
      component      text collate "C" not null,  -- what has it: the package, or something inside it
      severity       text not null,
      rank           smallint not null,
      epss           real,
      kev            boolean not null default false,
      fixed_in       text,
      accepted       boolean not null default false,
      accepted_until timestamptz,
      first_seen     timestamptz not null,
      primary key (package_id, cve, component)
    );
    create index finding_cve on finding (cve) include (package_id, rank, epss, kev, accepted);
    create index finding_severity on finding (severity, package_id);
    create index finding_kev on finding (package_id) where kev;

    -- every decision ever taken, also about packages that were deleted since; '' where it is about the package
    create table decision (
      id            bigint generated always as identity primary key,
      format        text collate "C" not null,
      codename      text collate "C" not null,
      name          text collate "C" not null,
      version       text collate "C" not null,
      arch          text collate "C" not null,
      cve           text collate "C" not null default '',
      decision      text not null,
      action        text not null,
      justification text not null,
      decided_by    text not null,
      decided_at    timestamptz not null,
      expires_at    timestamptz,
      due_at        timestamptz,
      unique (format, codename, name, version, arch, cve, decided_at)
    );
    create index decision_at on decision (decided_at desc, id desc);
    create index decision_cve on decision (cve) where cve <> '';

    -- deadlines that were missed and told of; a package that is held again has a new one
    create table sla_breach (
      package_id bigint not null references package on delete cascade,
      held_at    timestamptz not null,
      due_at     timestamptz not null,
      told_at    timestamptz not null,
      primary key (package_id, held_at)
    );

    insert into finding (package_id, cve, component, severity, rank, epss, kev, fixed_in, first_seen)
    select distinct on (p.id, f->>'id', f->>'package') p.id, f->>'id', coalesce(f->>'package', p.name), severity, ${RANK}, (f->>'epss')::real,
      coalesce((f->>'kev')::boolean, false), f->>'fixed_in', p.created_at
    from package p, jsonb_array_elements(p.manifest->'findings') as f, lateral (select f->>'severity' as severity) s
    where p.findings > 0;
    update package p set open_rank = g.rank, open_worst = p.worst, open_count = g.n, open_epss = g.epss, open_kev = g.kev
      from (select package_id, max(rank) as rank, count(*) as n, max(epss) as epss, bool_or(kev) as kev from finding group by package_id) g
      where g.package_id = p.id;
    update package set held_at = changed_at where state = 'pending_review';`,
}
