import { findAsked, findReferences, type AskedVersion } from '../../catalog/queries/fetched.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import type { Queryable } from '../../db/db.ts'
import type { Fetched } from '../../formats/fetches.ts'
import { decoded, type NamedFile } from './named-file.ts'
import { registryFormatOf } from './registry-paths.ts'

const LONGEST = 400

/** An address of a registry. */
export interface RegistryPath {
  readonly path: string
  readonly format: FormatId
  /** What the address says it gives; undefined: no package. */
  readonly place: Fetched | undefined
  /** The registry that it names; undefined where there is none any more. */
  readonly registry: Distribution | undefined
  /** Those that may have answered, in the order in which they are asked: of a group its members. */
  readonly answering: readonly Codename[]
}

/** Hosted registries have a name before those that read through, as the group asks them. */
function membersOf({ registry, format }: Distribution, repositories: Pick<Repositories, 'find'>): readonly Codename[] {
  const members = (registry?.members ?? []).flatMap(member => {
    const found = repositories.find(member)
    return found?.format === format ? [found] : []
  })
  const isHosted = (one: Distribution): boolean => one.registry?.kind !== 'proxy'
  return [...members.filter(isHosted), ...members.filter(one => !isHosted(one))].map(({ codename }) => codename)
}

/** Reads an address; undefined for one of a tree. */
export function readRegistryPath(path: string, repositories: Pick<Repositories, 'find'>): RegistryPath | undefined {
  const format = registryFormatOf(path)
  if (format === undefined) return undefined
  const [, , codename = '', ...segments] = decoded(path)
  const found = repositories.find(codename)
  const registry = found?.format === format.id ? found : undefined
  const answering =
    registry === undefined
      ? []
      : registry.registry?.kind === 'group'
        ? membersOf(registry, repositories)
        : [registry.codename]
  return { path, format: format.id, place: format.fetches.place(segments), registry, answering }
}

/** Whether an address gives another version tomorrow: by a tag, or by another member of a group. */
export const moves = ({ place, registry }: RegistryPath): boolean =>
  place?.isReference === true || registry?.registry?.kind === 'group'

/** What the address alone says, where the version is not here: one that was deleted, for example. */
const guess = ({ path, format, place, registry }: RegistryPath): NamedFile => ({
  path,
  format,
  codename: registry?.codename,
  name: place?.name.slice(0, LONGEST) ?? '',
  version: place?.version.slice(0, LONGEST) ?? '',
  arch: place?.arch?.slice(0, LONGEST) ?? '',
  isBeside: place === undefined || place.isBeside === true,
})

/** One question about a path: whether a registry has what it names. */
interface Question {
  readonly of: RegistryPath
  readonly place: Fetched
  readonly codename: Codename
}

async function versionsFor(
  db: Queryable,
  format: FormatId,
  questions: readonly Question[],
): Promise<readonly AskedVersion[]> {
  const references = questions.filter(({ place }) => place.isReference)
  const found = new Map<Question, string>()
  if (references.length > 0) {
    const asked = references.map(({ codename, place: { name, version } }) => ({ codename, name, reference: version }))
    for (const { at, version } of await findReferences(db, format, asked)) {
      const question = references[at]
      if (question !== undefined) found.set(question, version)
    }
  }
  return questions.map(question => {
    const { codename, place } = question
    const { name, version, arch, file } = place
    return { codename, name, version: found.get(question) ?? version, arch, file }
  })
}

async function nameOfFormat(
  db: Queryable,
  format: FormatId,
  paths: readonly RegistryPath[],
): Promise<readonly NamedFile[]> {
  const questions: readonly Question[] = paths.flatMap(of =>
    of.place === undefined ? [] : of.answering.map(codename => ({ of, place: of.place as Fetched, codename })),
  )
  const known = new Map<number, NamedFile>()
  for (const { at, version, arch, isMain } of await findAsked(db, format, await versionsFor(db, format, questions))) {
    const question = questions[at]
    if (question === undefined || known.has(at)) continue
    const { of, place, codename } = question
    const isBeside = !isMain && place.isBeside === true
    known.set(at, { path: of.path, format, codename, name: place.name, version, arch, isBeside })
  }
  // the first of a group that has it
  const first = new Map<RegistryPath, NamedFile>()
  for (const [at, { of }] of questions.entries()) {
    const named = known.get(at)
    if (named !== undefined && !first.has(of)) first.set(of, named)
  }
  return paths.map(of => first.get(of) ?? guess(of))
}

/** Names the versions behind addresses of registries: by the catalogue, else by the address. */
export async function nameFetched(db: Queryable, paths: readonly RegistryPath[]): Promise<readonly NamedFile[]> {
  const named: NamedFile[] = []
  for (const [format, ones] of Map.groupBy(paths, one => one.format))
    named.push(...(await nameOfFormat(db, format, ones)))
  return named
}
