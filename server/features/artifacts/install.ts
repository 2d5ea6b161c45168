import { manifestsOf, type NameFilter } from '../../catalog/queries/search.ts'
import type { ClientFacts, ClientSetup } from '../../core/client-setup.ts'
import type { Repositories } from '../../core/repository.ts'
import { named, type FormatId, type Named } from '../../core/identity.ts'
import { isServed } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { refuseMissing } from './artifacts.ts'

export interface Install extends Named {
  /** False while the package is held, quarantined or rejected: the commands would not find it. */
  readonly installable: boolean
  readonly command: string
  /** Once per client. */
  readonly setup: readonly string[]
  readonly client_line: string
  /** By package manager: everything, in order. */
  readonly commands: Readonly<Record<string, readonly string[]>>
}

/** Packages of one name, newest first, among which the one to install is looked for. */
const LOOKED_AT = 20

/** @throws package_not_found, version_not_found */
export async function installCommands(
  deps: {
    readonly db: Queryable
    readonly formats: (id: FormatId) => Pick<Format, 'installCommand' | 'client'>
    readonly repositories: Pick<Repositories, 'get'>
  },
  viewer: Viewer,
  filter: NameFilter,
  facts: ClientFacts,
): Promise<Install> {
  const found = await manifestsOf(deps.db, viewer, { ...filter, most: LOOKED_AT })
  // a source has the name of what is built from it; who wants the source alone names its architecture
  const wanted = found.find(one => one.kind !== 'source') ?? found[0]
  const { ref, state, kind = 'binary' } = wanted ?? (await refuseMissing(deps.db, viewer, filter))
  const { client, installCommand } = deps.formats(ref.format)
  const setups = client.setups(deps.repositories.get(ref.codename), facts)
  const ask = (manager: string): string => installCommand(ref, { manager, kind })
  const prepare = ({ setup, optional }: ClientSetup): readonly string[] => [
    ...setup,
    ...optional.filter(one => one.kind === kind).flatMap(one => one.setup),
  ]
  return {
    ...named(ref),
    installable: isServed(state),
    command: ask(setups[0].manager),
    setup: prepare(setups[0]),
    client_line: setups[0].line,
    commands: Object.fromEntries(setups.map(setup => [setup.manager, [...prepare(setup), ask(setup.manager)]])),
  }
}
