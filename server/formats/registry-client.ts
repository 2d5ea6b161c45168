import type { ClientFacts, ConfigFile } from '../core/client-setup.ts'
import { plainKey, type NameKey } from '../core/registry-names.ts'
import type { Distribution } from '../core/repository.ts'

/** What the lines that set a client of a registry up depend on. */
export interface RegistryFacts {
  /** The registry's address, without a slash at the end: `https://host/npm/ours`, for OCI `https://host/v2/ours`. */
  readonly address: string
  /** Reading needs a token, too: the lines have `TOKEN_PLACE`. Publishing always does. */
  readonly needsToken: boolean
  /** People publish into it: it is a hosted one. */
  readonly publishes: boolean
}

/** A file of a client. */
export interface SetupFile extends ConfigFile {
  /** The commands do not do it: it has to be there before them. */
  readonly first?: true
}

/** What a person does once for one client of a registry. */
export interface RegistrySetup {
  /** `npm`, `yarn 4`, `pip` */
  readonly client: string
  /** Files as they are to be written; `~/` is the person's home, others lie in the project. */
  readonly files: readonly SetupFile[]
  /** Shell commands, in order, after files that are `first`; other files do the same as they do. */
  readonly setup: readonly string[]
  /** Installs; `PACKAGE` is to be replaced. */
  readonly install: string
  /** Publishes; absent where this client cannot. */
  readonly publish?: string
  /** What is to be known, in whole sentences. */
  readonly notes: readonly string[]
}

/** How clients of the registries of a format are set up. */
export interface RegistryClient {
  /** The first segment of their addresses: `npm`, `pypi`, `maven`, `v2`. */
  readonly root: string
  /** A name as other registries compare it; absent: without regard to case alone. */
  readonly nameKey?: NameKey
  /** What its clients write before a name, by the registry's address; absent: nothing. */
  placeOf?(address: string): string
  /** The usual client first. */
  setups(registry: Distribution, facts: RegistryFacts): readonly [RegistrySetup, ...RegistrySetup[]]
}

/** The facts of one registry, from those of the server. */
export function registryFacts(
  { root }: Pick<RegistryClient, 'root'>,
  { codename, registry }: Pick<Distribution, 'codename' | 'registry'>,
  { url, privateTrees }: ClientFacts,
): RegistryFacts {
  return {
    address: `${url}/${root}/${codename}`,
    needsToken: privateTrees?.has(codename) === true,
    publishes: (registry?.kind ?? 'hosted') === 'hosted',
  }
}

/** How names of a format are compared with names elsewhere. */
export const nameKeyOf = ({ registryClient }: { readonly registryClient?: RegistryClient }): NameKey =>
  registryClient?.nameKey ?? plainKey
