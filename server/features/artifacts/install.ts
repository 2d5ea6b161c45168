import { manifestsOf, type NameFilter } from '../../catalog/queries/search.ts'
import type { ClientFacts } from '../../core/client-setup.ts'
import type { Repositories } from '../../core/repository.ts'
import type { FormatId } from '../../core/identity.ts'
import { isServed } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { refuseMissing } from './artifacts.ts'

export interface Install {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
  /** False while the package is held, quarantined or rejected: the commands would not find it. */
  readonly installable: boolean
  readonly command: string
  /** Once per client. */
  readonly setup: readonly string[]
  readonly client_line: string
  /** By package manager: everything, in order. */
  readonly commands: Readonly<Record<string, readonly string[]>>
}

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
  const { ref, state } =
    (await manifestsOf(deps.db, viewer, { ...filter, most: 1 }))[0] ?? (await refuseMissing(deps.db, viewer, filter))
  const { client, installCommand } = deps.formats(ref.format)
  const setups = client.setups(deps.repositories.get(ref.codename), facts)
  const ask = (manager: string): string => installCommand(ref, manager)
  return {
    name: ref.name,
    version: ref.version,
    arch: ref.arch,
    distribution: ref.codename,
    format: ref.format,
    installable: isServed(state),
    command: ask(setups[0].manager),
    setup: setups[0].setup,
    client_line: setups[0].line,
    commands: Object.fromEntries(setups.map(({ manager, setup }) => [manager, [...setup, ask(manager)]])),
  }
}
