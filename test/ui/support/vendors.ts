import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { aptTree } from '../../support/index-trees.ts'
import type { DebSpec } from '../../support/packages.ts'
import { createVendorKey, type VendorKey } from '../../support/upstream/key.ts'
import { serveUpstream, type Upstream } from '../../support/upstream/serve.ts'
import { writeAptTree } from '../../support/upstream/trees.ts'

const deb = (name: string, version: string, summary: string, depends?: string): DebSpec => ({
  name,
  version,
  fields: { Description: summary, ...(depends === undefined ? {} : { Depends: depends }) },
})

const MAIN = [
  deb('postgresql', '15+248', 'object-relational SQL database (supported version)', 'postgresql-15'),
  deb(
    'postgresql-15',
    '15.14-0+deb12u1',
    'The World’s Most Advanced Open Source Relational Database',
    'postgresql-client-15, postgresql-common (>= 248), libicu72',
  ),
  deb(
    'postgresql-client-15',
    '15.14-0+deb12u1',
    'front-end programs for PostgreSQL 15',
    'libpq5 (>= 15~~), postgresql-client-common',
  ),
  deb('postgresql-client-common', '248', 'manager for multiple PostgreSQL client versions'),
  deb('postgresql-common', '248', 'PostgreSQL database-cluster manager', 'postgresql-client-common (= 248)'),
  deb('postgresql-plpython3-15', '15.14-0+deb12u1', 'PL/Python 3 procedural language', 'postgresql-15, libpython3.11'),
  deb('libpq5', '15.14-0+deb12u1', 'PostgreSQL C client library'),
  deb('libicu72', '72.1-3+deb12u1', 'International Components for Unicode'),
  deb('curl', '7.88.1-10+deb12u14', 'command line tool for transferring data with URL syntax', 'libpq5'),
]
const SECURITY = [deb('libpq5', '15.15-0+deb12u1', 'PostgreSQL C client library')]
const PLANT = 'plant-desktop'
/** So many packages come with `plant-desktop`. */
export const HUGE = 700

/** What a desktop needs, in three levels: an index without the files. */
const huge = () => [
  { name: PLANT, fields: { Depends: Array.from({ length: 20 }, (_, n) => `area${n}`).join(', ') } },
  ...Array.from({ length: HUGE - 1 }, (_, n) => ({
    name: n < 20 ? `area${n}` : `part${n}`,
    fields: {
      Size: String(1_000 + n * 7_919),
      ...(n < 20
        ? {
            Depends: Array.from({ length: HUGE - 1 }, (_one, k) => k)
              .filter(k => k >= 20 && k % 20 === n)
              .map(k => `part${k}`)
              .join(', '),
          }
        : {}),
    },
  })),
]

/** Vendors on this machine whose suites take the place of those of Debian 12. */
export interface Vendors {
  readonly upstream: Upstream
  readonly key: VendorKey
  /** Below the folder that is served: writes `bookworm-security` anew, of that moment. */
  renew(date: Date, packages?: readonly DebSpec[]): Promise<void>
  close(): Promise<void>
}

type Ask = (method: string, path: string, body: object) => Promise<unknown>

/** @param ask  calls the API as an admin */
export async function startVendors(ask: Ask): Promise<Vendors> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-vendors-'))
  const key = await createVendorKey()
  const date = new Date(Date.now() - 3_600_000)
  const renew: Vendors['renew'] = (at, packages = SECURITY) =>
    writeAptTree(folder, packages, { key, date: at, suite: 'bookworm-security' })
  await writeAptTree(folder, MAIN, { key, date })
  await writeAptTree(folder, [], { key, date, suite: 'bookworm-updates' })
  await renew(date)
  const plant = await aptTree({
    suite: 'plant',
    date,
    components: { main: huge() },
    sign: async text => (await key.clearsign(text, date)).toString(),
  })
  for (const [path, bytes] of Object.entries(plant)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), bytes)
  }
  const upstream = await serveUpstream(folder)
  await ask('PATCH', '/settings/', { notifications: { allow_private_hosts: '127.0.0.1' } })
  await ask('POST', '/import/keys', { public_key: key.publicKey, label: 'Debian 12 of the tests' })
  const own = { url: upstream.url, keys: [key.fingerprint], architectures: ['amd64'] }
  for (const suite of ['bookworm', 'bookworm-updates', 'bookworm-security'])
    await ask('PATCH', `/import/sources/${suite}`, own)
  return {
    upstream,
    key,
    renew,
    close: async () => {
      await upstream.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A source of one's own with a package that needs 700 others. */
export const plantSource = ({ upstream, key }: Vendors): object => ({
  name: 'Plant desktop',
  type: 'apt',
  url: upstream.url,
  suite: 'plant',
  distribution: 'bookworm',
  architectures: ['amd64'],
  keys: [key.fingerprint],
})
