import type { IndexedManifest } from '../catalog/queries/search.ts'
import type { VersionPlace } from '../catalog/queries/versions.ts'
import { isOfDependency } from '../core/findings.ts'
import type { FormatId } from '../core/identity.ts'
import { barePurl } from '../core/purl.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Repositories } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import type { Format } from '../formats/format.ts'
import { uuidOf, type Bill, type Entry, type Print } from './bill.ts'
import type { ContentsOf } from '../contents/contents.ts'
import type { Contents } from '../contents/component.ts'
import { contentsNow, UNREAD } from '../contents/now.ts'
import { cyclonedx } from './cyclonedx.ts'
import { openvex } from './openvex.ts'
import { spdx } from './spdx.ts'
import { countServed, findPackage, listServed, readPackages } from '../catalog/queries/served.ts'
import type { Viewer } from '../core/viewer.ts'

/** The formats of a bill. `openvex` holds only what is known and decided about vulnerabilities. */
export const PRINTS = { cyclonedx, spdx, openvex } as const satisfies Record<string, Print>
export type PrintName = keyof typeof PRINTS

/** Bills of materials over the catalogue. */
export interface Bills {
  /** Of everything published, or of one distribution; or of the first `limit` packages. */
  ofServed(
    viewer: Viewer,
    filter: { readonly codename?: string | undefined; readonly limit?: number | undefined },
  ): Promise<Bill>
  /** Of one package, in any state; undefined when there is none. */
  ofPackage(viewer: Viewer, which: VersionPlace): Promise<Bill | undefined>
}

export interface BillsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly contents: Pick<ContentsOf, 'of' | 'known'>
  readonly formats: (id: FormatId) => Pick<Format, 'purl'>
  readonly repositories: Pick<Repositories, 'get'>
  /** The version of this program, for the document. */
  readonly tool: string
}

// manifests of this many packages are in memory at once
const CHUNK = 200
const NEVER = '1970-01-01T00:00:00.000Z'

/** Makes bills from rows. A bill names the packages that were there when it was begun. */
export function createBills({ db, clock, contents, formats, repositories, tool }: BillsDeps): Bills {
  const entryOf = (manifest: IndexedManifest, carried: Contents): Entry => {
    const { ref, about, findings } = manifest
    const purl = formats(ref.format).purl(ref, repositories.get(ref.codename), about)
    return {
      // a bill says what a package is and carries, not what a client installs beside it
      manifest: { ...manifest, findings: findings.filter(one => !isOfDependency(one)) },
      purl,
      // a package of a registry names itself in its files, too
      contents: { ...carried, components: carried.components.filter(one => barePurl(one.purl) !== barePurl(purl)) },
    }
  }

  async function* entriesOf(viewer: Viewer, ids: readonly number[]): AsyncGenerator<Entry> {
    for (let at = 0; at < ids.length; at += CHUNK) {
      for (const manifest of await readPackages(db, viewer, ids.slice(at, at + CHUNK)))
        yield entryOf(manifest, (await contents.known(manifest)) ?? UNREAD)
    }
  }

  return {
    async ofServed(viewer, { codename, limit }) {
      const [served, total] = await Promise.all([
        listServed(db, viewer, { codename, limit }),
        countServed(db, viewer, codename),
      ])
      const newest = served.reduce((sofar, { changed_at }) => Math.max(sofar, changed_at.getTime()), Date.parse(NEVER))
      return {
        heading: {
          name: `gatehouse-${codename ?? 'all'}`,
          at: new Date(newest).toISOString(),
          tool,
          total,
          now: isoNow(clock),
          uuid: uuidOf(served.flatMap(({ id, sha256, changed_at }) => [String(id), sha256, changed_at.toISOString()])),
        },
        entries: () =>
          entriesOf(
            viewer,
            served.map(({ id }) => id),
          ),
      }
    },
    async ofPackage(viewer, which) {
      const manifest = await findPackage(db, viewer, which)
      if (manifest === undefined) return undefined
      const entry = entryOf(manifest, await contentsNow(contents, manifest))
      const { ref, changed_at } = manifest
      const { blob } = manifest.files[0]
      return {
        heading: {
          name: ref.name,
          version: ref.version,
          at: changed_at,
          tool,
          total: 1,
          now: isoNow(clock),
          uuid: uuidOf([entry.purl, blob.sha256, changed_at]),
        },
        async *entries() {
          yield entry
        },
      }
    },
  }
}
