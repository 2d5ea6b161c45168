import { baseOf, buildOf, isSnapshot, partsOf, readKind } from '../../formats/maven/coordinates.ts'
import { element } from '../../formats/rpm/xml.ts'
import type { BuildFileRow, PluginRow, VersionRow } from '../../catalog/queries/maven.ts'

/** `20261122094857`: a moment in UTC as Maven writes it. */
const stampOf = (at: Date): string => at.toISOString().slice(0, 19).replace(/[-:T]/g, '')

const newest = (rows: readonly Pick<VersionRow, 'changed_at'>[]): Date =>
  rows.reduce((latest, { changed_at: at }) => (at > latest ? at : latest), new Date(0))

const block = (tag: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`<${tag}>`, ...lines.map(line => `  ${line}`), `</${tag}>`]

const print = (lines: readonly string[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${block('metadata', lines).join('\n')}\n`

/** What a name is, with its published versions in Maven's order. */
export interface Listed {
  readonly name: string
  readonly versions: readonly VersionRow[]
}

function versioning({ versions }: Listed): readonly string[] {
  const all = [...new Set(versions.map(({ version }) => baseOf(version)))]
  const latest = all.at(-1)
  const release = all.findLast(version => !isSnapshot(version))
  return block('versioning', [
    ...(latest === undefined ? [] : [element('latest', latest)]),
    ...(release === undefined ? [] : [element('release', release)]),
    ...block(
      'versions',
      all.map(version => element('version', version)),
    ),
    element('lastUpdated', stampOf(newest(versions))),
  ])
}

const plugin = ({ name, summary, prefix }: PluginRow): readonly string[] =>
  block('plugin', [element('name', summary), element('prefix', prefix), element('artifactId', partsOf(name).artifact)])

/**
 * The versions of a name and the plugins of the group that its address names, which may be both.
 * Source: https://maven.apache.org/ref/3.9.11/maven-repository-metadata/repository-metadata.html
 */
export function printListing(listed: Listed | undefined, plugins: readonly PluginRow[]): string {
  const parts = listed === undefined ? undefined : partsOf(listed.name)
  return print([
    ...(parts === undefined ? [] : [element('groupId', parts.group), element('artifactId', parts.artifact)]),
    ...(listed === undefined ? [] : versioning(listed)),
    ...block('plugins', plugins.flatMap(plugin)),
  ])
}

// of several builds clients take the one that was updated last: an approval must not make an old one the newest
const stampOfBuild = (version: string): string => buildOf(version)?.timestamp.replace('.', '') ?? ''

/**
 * The builds of a snapshot: the newest for those who ask for no other, and every file of each.
 * @param files  of published builds, oldest first; one at least
 */
export function printBuilds(name: string, base: string, files: readonly BuildFileRow[]): string {
  const { group, artifact } = partsOf(name)
  const last = files.at(-1)
  const build = last === undefined ? undefined : buildOf(last.version)
  const snapshotVersions = files.flatMap(({ version, path }) => {
    const begin = `${artifact}-${version}`
    const kind = path.startsWith(begin) ? readKind(path.slice(begin.length)) : undefined
    if (kind === undefined) return []
    return block('snapshotVersion', [
      ...(kind.classifier === '' ? [] : [element('classifier', kind.classifier)]),
      element('extension', kind.extension),
      element('value', version),
      element('updated', stampOfBuild(version)),
    ])
  })
  return print([
    element('groupId', group),
    element('artifactId', artifact),
    element('version', base),
    ...block('versioning', [
      ...(build === undefined
        ? []
        : block('snapshot', [element('timestamp', build.timestamp), element('buildNumber', String(build.number))])),
      element('lastUpdated', stampOfBuild(last?.version ?? '')),
      ...block('snapshotVersions', snapshotVersions),
    ]),
  ])
}
