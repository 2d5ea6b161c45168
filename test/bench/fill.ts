import type { Db } from '../../server/db/db.ts'

/** How many packages a fill makes, over how many names. */
export interface Fill {
  readonly artifacts: number
  readonly versionsEach: number
}

const HEADS = [
  'lib',
  'python3-',
  'golang-',
  'node-',
  'ruby-',
  'r-cran-',
  'php-',
  'perl-',
  'fonts-',
  'kde-',
  'gnome-',
  'linux-',
  'x11-',
  'qt6-',
  'rust-',
  '',
]
const STEMS = [
  'ssl',
  'curl',
  'json',
  'yaml',
  'image',
  'zip',
  'crypto',
  'http',
  'socket',
  'parser',
  'graph',
  'matrix',
  'audio',
  'video',
  'render',
  'editor',
  'kernel',
  'driver',
  'mail',
  'proxy',
  'cache',
  'queue',
  'store',
  'index',
  'search',
  'cluster',
  'stream',
  'signal',
  'widget',
  'theme',
  'locale',
  'archive',
]
const TAILS = ['', '-dev', '-doc', '-common', '-utils', '-data', '-dbg', '1', '2', '-perl']
const WORDS = [
  'shared library',
  'development files',
  'documentation',
  'command line tool',
  'bindings for',
  'architecture independent data',
  'client',
  'server',
  'plugin',
  'modular framework',
  'high level',
  'simple',
  'fast',
  'toolkit',
  'daemon',
  'manipulation of',
  'support for',
  'transitional package',
]

const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T

/** The n-th name and summary; every name once, spread as an archive's are. */
function artifactAt(n: number): { readonly name: string; readonly summary: string } {
  const mixed = (n * 2_654_435_761) >>> 0
  const name = `${pick(HEADS, mixed >>> 3)}${pick(STEMS, mixed >>> 9)}-${pick(STEMS, mixed >>> 15)}${n.toString(36)}${pick(TAILS, mixed >>> 21)}`
  return {
    name,
    summary: `${pick(WORDS, mixed >>> 5)} ${pick(STEMS, mixed >>> 11)} ${pick(WORDS, mixed >>> 17)} (${pick(STEMS, mixed >>> 23)})`,
  }
}

/**
 * Fills the index as the catalogue would, by plain inserts of 5,000 rows, then analyses it. No manifest on disk stands
 * behind it.
 */
export async function fillIndex(db: Db, { artifacts, versionsEach }: Fill): Promise<void> {
  const codenames = ['jammy', 'noble', 'focal', 'bookworm']
  for (let from = 0; from < artifacts; from += 5000) {
    const rows = Array.from({ length: Math.min(5000, artifacts - from) }, (_, i) => ({
      n: from + i,
      codename: pick(codenames, from + i),
      ...artifactAt(from + i),
    }))
    await db.query(
      `
      insert into package (format, codename, name, source, source_version, version, arch, sort_key, sha256, size, summary, state, worst, findings, warned,
                           uploaded_by, origin,
                           created_at, changed_at, manifest, facts, paths)
      select 'deb', r.codename, r.name, r.name, '1.' || v, '1.' || v, 'amd64', lpad(v::text, 8, '0'), md5(r.n::text) || md5(v::text), 10000 + r.n, r.summary,
             case when r.n % 50 = 7 then 'pending_review' when r.n % 90 = 11 then 'quarantined' else 'published' end,
             case when r.n % 12 = 5 then 'high' end, (r.n % 12 = 5)::int, false, 'bench', 'upload',
             now() - (r.n % 2000000) * interval '1 second', now() - (r.n % 2000000) * interval '1 second',
             jsonb_build_object('findings', case when r.n % 12 = 5 then '[{"id":"CVE-2026-1","severity":"high"}]'::jsonb else '[]'::jsonb end,
                                'files', jsonb_build_array(jsonb_build_object('path', r.name || '.deb')), 'pad', repeat(md5(r.n::text), 30)), '{}', ''
      from jsonb_to_recordset($1::jsonb) as r (n int, codename text, name text, summary text), generate_series(1, $2::int) v`,
      [JSON.stringify(rows), versionsEach],
    )
    await db.query(
      `insert into artifact (format, name, summary, versions, latest, updated_at)
      select 'deb', r.name, r.summary, $2::int, '1.' || $2::int, now() from jsonb_to_recordset($1::jsonb) as r (name text, summary text)`,
      [JSON.stringify(rows), versionsEach],
    )
  }
  await db.query('vacuum analyze package')
  await db.query('vacuum analyze artifact')
}
