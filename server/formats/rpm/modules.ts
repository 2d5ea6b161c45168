import { malformed, Malformed } from '../../lib/limited.ts'
import { MAX_DOCUMENT, readYaml } from '../documents.ts'
import type { FetchPath, ModulePackage } from '../upstream.ts'
import { atMost, readIndex, rethrow, type IndexPromise } from '../upstream-files.ts'
import { printEvr } from './version.ts'

type Mapping = Readonly<Record<string, unknown>>

const mapping = (value: unknown): Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Mapping) : {}
// a stream such as 1.10 may be written without quotes, as a number
const word = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''

/** A package of a stream: `nodejs-1:18.2.0-1.module_el8.x86_64`; the epoch is always written. */
const ARTIFACT = /^(.+)-(\d+):([^-]+)-([^-]+)\.([^.-]+)$/

/** Packages of a stream without those of its source. @throws Malformed */
function packagesOf(stream: Mapping): Omit<ModulePackage, 'isDefault'>[] {
  const module = `${word(stream.name)}:${word(stream.stream)}`
  const { rpms = [] } = mapping(stream.artifacts)
  if (!Array.isArray(rpms)) return malformed(`the packages of ${module} are no list`)
  return (rpms as unknown[]).flatMap(rpm => {
    const [, name = '', epoch = '', version = '', release = '', arch = ''] = ARTIFACT.exec(word(rpm)) ?? []
    if (name === '') malformed(`${module} holds ${JSON.stringify(rpm).slice(0, 100)}, which names no package`)
    return arch === 'src' || arch === 'nosrc'
      ? []
      : [{ name, version: printEvr({ epoch, version, release }), arch, module }]
  })
}

/**
 * The packages of every stream of a `modules.yaml`, each once: of a default stream where one holds it.
 * @throws Malformed. Source: https://github.com/fedora-modularity/libmodulemd, yaml_specs
 */
export async function parseModules(bytes: Buffer): Promise<readonly ModulePackage[]> {
  const defaults = new Set<string>()
  const found: Omit<ModulePackage, 'isDefault'>[] = []
  for await (const { document, data } of readYaml(bytes, 'modules.yaml')) {
    const about = mapping(data)
    if (document === 'modulemd') found.push(...packagesOf(about))
    if (document === 'modulemd-defaults' && word(about.stream) !== '')
      defaults.add(`${word(about.module)}:${word(about.stream)}`)
  }
  const all = new Map<string, ModulePackage>()
  for (const one of found) {
    const key = `${one.name} ${one.version} ${one.arch}`
    const isDefault = defaults.has(one.module)
    if (isDefault || !all.has(key)) all.set(key, { ...one, isDefault })
  }
  return [...all.values()]
}

/** @throws upstream_refused */
export async function readModules(fetch: FetchPath, index: IndexPromise): Promise<readonly ModulePackage[]> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of atMost(readIndex(fetch, index), index.path, MAX_DOCUMENT)) chunks.push(chunk)
    return await parseModules(Buffer.concat(chunks))
  } catch (error) {
    if (error instanceof Malformed) rethrow(index.path, error)
    throw error
  }
}
