import { findLatest, listTold, type NameFilter } from '../../catalog/queries/names.ts'
import type { ClientFacts, ClientSetup } from '../../core/client-setup.ts'
import type { Repositories } from '../../core/repository.ts'
import { named, type FormatId, type Named } from '../../core/identity.ts'
import { fail } from '../../core/errors.ts'
import { isServed } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { clientOf } from '../../formats/index.ts'
import { registryFacts } from '../../formats/registry-client.ts'
import { refuseMissing } from './artifacts.ts'

export interface Install extends Named {
  /** What no client would find is refused instead. */
  readonly installable: true
  readonly command: string
  /** Once per client. */
  readonly setup: readonly string[]
  readonly client_line: string
  /** By package manager: everything, in order. */
  readonly commands: Readonly<Record<string, readonly string[]>>
}

/**
 * The commands for the newest version that is served, or for the one that is asked for.
 * @throws package_not_found, version_not_found; not_served, naming what could be installed instead
 */
export async function installCommands(
  deps: {
    readonly db: Queryable
    readonly formats: (id: FormatId) => Pick<Format, 'id' | 'installCommand' | 'client' | 'registryClient'>
    readonly repositories: Pick<Repositories, 'get'>
  },
  viewer: Viewer,
  filter: NameFilter,
  facts: ClientFacts,
): Promise<Install> {
  const wanted = (await findLatest(deps.db, viewer, filter)) ?? (await refuseMissing(deps.db, viewer, filter))
  const { ref, state, kind = 'binary' } = wanted
  if (!isServed(state)) {
    const { version: _, ...anyVersion } = filter
    const others = filter.version === undefined ? [] : await listTold(deps.db, viewer, anyVersion)
    const served = others.find(one => one.format === ref.format && isServed(one.state))?.latest ?? null
    fail('not_served', {
      ...named(ref),
      state,
      served,
      instead: served === null ? 'No version is served.' : `${served} is served.`,
    })
  }
  const format = deps.formats(ref.format)
  const repository = deps.repositories.get(ref.codename)
  const { registryClient } = format
  if (registryClient !== undefined) {
    const registry = registryFacts(registryClient, repository, facts)
    const clients = registryClient.setups(repository, registry)
    const place = registryClient.placeOf?.(registry.address)
    const ask = (manager: string): string =>
      format.installCommand(ref, { manager, kind, ...(place === undefined ? {} : { place }) })
    return {
      ...named(ref),
      installable: true,
      command: ask(clients[0].client),
      setup: clients[0].setup,
      client_line: registry.address,
      commands: Object.fromEntries(clients.map(({ client, setup }) => [client, [...setup, ask(client)]])),
    }
  }
  const setups = clientOf(format).setups(repository, facts)
  const ask = (manager: string): string => format.installCommand(ref, { manager, kind })
  const prepare = ({ setup, optional }: ClientSetup): readonly string[] => [
    ...setup,
    ...optional.filter(one => one.kind === kind).flatMap(one => one.setup),
  ]
  return {
    ...named(ref),
    installable: true,
    command: ask(setups[0].manager),
    setup: prepare(setups[0]),
    client_line: setups[0].line,
    commands: Object.fromEntries(setups.map(setup => [setup.manager, [...prepare(setup), ask(setup.manager)]])),
  }
}
