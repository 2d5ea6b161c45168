import type { Changed } from '../../catalog/change.ts'
import { listVersionRows } from '../../catalog/queries/maven.ts'
import { AppError, ERRORS, fail } from '../../core/errors.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Distribution } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { together, type SpooledFile } from '../../files/spool.ts'
import { baseOf, buildOf, isSnapshot, partsOf, printBuild, type Coordinates } from '../../formats/maven/coordinates.ts'
import { maven } from '../../formats/maven/index.ts'
import { orderFiles } from '../../formats/maven/order-files.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import { admitVersion } from '../admit.ts'
import type { RegistryDeps } from '../deps.ts'
import { refOf } from '../refs.ts'
import { RESTED_MS, type Deploys } from './deploys.ts'
import { chooseBuild, isPinned, listRested, type Arrived, type Deploy } from './rows.ts'

/** A version that no fault of its own has kept from the gate for so long is given up. */
const GIVEN_UP_MS = 24 * 60 * 60 * 1000
/** The builds of a snapshot that are kept where the registry says nothing. */
const SNAPSHOTS_KEPT = 10

export interface SettleDeps extends RegistryDeps {
  readonly deploys: Deploys
  /** One for all that is done with deploys. */
  readonly lock: KeyedLock
}

/** Sends versions through the gate that are whole. */
export interface Settle {
  /**
   * A version whose sender waits; undefined where it is not on its way.
   * @throws what the gate throws; the version is dropped then unless the fault is ours
   */
  now(of: Deploy, registry: Distribution): Promise<Manifest | undefined>
  /** Those whose last file came a minute ago. */
  rested(): Promise<void>
}

export const keyOf = ({ codename, name, version }: Deploy): string => `${codename} ${name} ${version}`

/** Whether sending the same again could end otherwise. */
const isOurFault = (error: unknown): boolean => !(error instanceof AppError) || ERRORS[error.code][0] >= 500

const stampOf = (at: Date): string => at.toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '.')

/** The pom says what it is; the address must say the same. @throws bad_package */
function mustBe(
  of: Deploy & Coordinates,
  { ref, filename }: { readonly ref: string; readonly filename: string },
): void {
  const asked = `${of.name} ${of.version}`
  if (ref !== asked) fail('bad_package', { filename, why: `its pom says ${ref}, and its address ${asked}` })
}

/** Removes what a registry keeps no longer of a snapshot. Held builds wait for their decision. */
export async function thinSnapshots(
  { db, catalog }: Pick<RegistryDeps, 'db' | 'catalog'>,
  { ref: { codename, name, version } }: Pick<Manifest, 'ref'>,
  registry: Distribution,
): Promise<void> {
  const base = buildOf(version)?.base
  const keep = registry.registry?.snapshotsKept ?? SNAPSHOTS_KEPT
  if (base === undefined) return
  const builds = (await listVersionRows(db, ALL_SEEING, { codename, name })).filter(
    row => row.state === 'published' && row.version !== base && baseOf(row.version) === base,
  )
  for (const old of builds.slice(0, Math.max(0, builds.length - keep))) {
    const ref = refOf({ registry }, name, old.version)
    await catalog.change(
      {
        kind: 'delete',
        ref,
        why: `The registry keeps ${keep === 1 ? '1 build' : `${keep} builds`} of a snapshot.`,
        unless: tx => isPinned(tx, ref),
      },
      { name: 'retention' },
    )
  }
}

/** Makes it. */
export function createSettle(deps: SettleDeps): Settle {
  const { db, deploys, lock, clock, log, repositories } = deps

  /** A file that names no build gets the one that its version becomes. */
  async function withBuild(
    of: Deploy,
    files: readonly (SpooledFile & { readonly row: Arrived })[],
  ): Promise<{ readonly version: string; readonly files: readonly SpooledFile[] }> {
    if (!isSnapshot(of.version)) return { version: of.version, files }
    const rows = await listVersionRows(db, ALL_SEEING, of)
    const numbers = rows.flatMap(({ version }) =>
      baseOf(version) === of.version ? (buildOf(version)?.number ?? 0) : [],
    )
    const number = Math.max(0, ...numbers) + 1
    const wanted = printBuild({ base: of.version, timestamp: stampOf(clock.now()), number })
    const version = await chooseBuild(db, of, wanted)
    const { artifact } = partsOf(of.name)
    const begin = `${artifact}-${of.version}`
    return {
      version,
      files: files.map(file => ({ ...file, filename: `${artifact}-${version}${file.filename.slice(begin.length)}` })),
    }
  }

  async function admit(of: Deploy, registry: Distribution): Promise<Changed | undefined> {
    const arrived = await deploys.files(of)
    const [first] = arrived
    if (first === undefined) {
      await deploys.drop(of)
      return undefined
    }
    const parts = partsOf(of.name)
    let file: SpooledFile = together(first, arrived.slice(1))
    try {
      const { version, files } = await withBuild(of, arrived)
      const [main = first, ...beside] = orderFiles(files, { ...parts, version })
      file = beside.length === 0 ? main : together(main, beside)
      const inspection = await maven.inspect(file, new AbortController().signal)
      const { name, version: said } = inspection.identity
      mustBe({ ...of, ...parts, version }, { ref: `${name} ${said}`, filename: main.filename })
      const actor = { name: first.row.sender, ip: first.row.ip }
      return await admitVersion(deps, { file, format: maven, registry, actor, read: { inspection } })
    } finally {
      await file.discard()
    }
  }

  async function settle(of: Deploy, registry: Distribution): Promise<Manifest | undefined> {
    try {
      const changed = await admit(of, registry)
      if (changed === undefined) return undefined
      await deploys.drop(of)
      if (changed.outcome === 'created') await thinSnapshots(deps, changed.manifest, registry)
      return changed.manifest
    } catch (error) {
      if (!isOurFault(error)) await deploys.drop(of)
      throw error
    }
  }

  return {
    now: (of, registry) => lock.run(keyOf(of), () => settle(of, registry)),
    async rested() {
      const now = clock.now().getTime()
      for (const { since, ...of } of await listRested(db, new Date(now - RESTED_MS))) {
        const found = repositories.find(of.codename)
        // the name may be that of something else by now
        const registry = found?.kind === 'registry' && found.format === maven.id ? found : undefined
        try {
          if (registry === undefined || now - since.getTime() > GIVEN_UP_MS) await deploys.drop(of)
          else await lock.run(keyOf(of), () => settle(of, registry))
        } catch (error) {
          const { codename, name, version } = of
          log.warn(
            { err: error, registry: codename, package: name, version },
            'a version that was deployed was not taken',
          )
        }
      }
      await deploys.sweep()
    },
  }
}
