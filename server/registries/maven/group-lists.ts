import { fail } from '../../core/errors.ts'
import type { PluginRow } from '../../catalog/queries/maven.ts'
import { nameOf } from '../../formats/maven/coordinates.ts'
import { decodeXml, readLeaves } from '../../formats/maven/pom.ts'
import { Malformed } from '../../lib/limited.ts'
import { askMember } from '../group/ask.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest, Together } from '../protocol.ts'
import { isProxy } from '../remote/remote.ts'
import { list } from './answers.ts'
import { printListing } from './metadata.ts'
import { groupName, isOfBuilds, nameAt, placeOf } from '../../formats/maven/place.ts'

/** The plugins that a list names; undefined where it is a list of versions. @throws Malformed */
function pluginsIn(bytes: Buffer | string, group: string): readonly PluginRow[] | undefined {
  const plugins: PluginRow[] = []
  let isOfVersions = false
  let one: Record<string, string> = {}
  readLeaves(typeof bytes === 'string' ? bytes : decodeXml(bytes), {
    each: (path, text) => {
      if (path === 'metadata/versioning/versions/version') isOfVersions = true
      const [, key] = /^metadata\/plugins\/plugin\/(name|prefix|artifactId)$/.exec(path) ?? []
      if (key !== undefined) one[key] = text
    },
    end: path => {
      if (path !== 'metadata/plugins/plugin') return
      const { name = '', prefix, artifactId: artifact } = one
      if (prefix !== undefined && artifact !== undefined)
        plugins.push({ name: nameOf({ group, artifact }), summary: name, prefix })
      one = {}
    },
  })
  return isOfVersions ? undefined : plugins
}

/** Without the checksum that was asked for. */
const plainly = (request: RegistryRequest): RegistryRequest => ({
  ...request,
  segments: [...request.segments.slice(0, -1), 'maven-metadata.xml'],
})

/**
 * The list in a folder of which nobody here has versions: that of a group names the plugins of all members, each by the
 * word of the one that has it, the first one's where two have the same prefix. A list of versions is that of the first
 * member that finds it. A group that is reserved as a whole is looked up nowhere else.
 * @returns undefined for what is no such list
 * @throws group_keeps_name, group_has_not, upstream_refused, and what a member throws
 */
export async function joinLists(
  { answer, hasName }: Pick<RegistryProtocol, 'answer' | 'hasName'>,
  request: RegistryRequest,
  { members, speakers }: Together,
): Promise<RegistryAnswer | undefined> {
  if (request.endsWithSlash || request.segments.length === 0) return undefined
  const place = placeOf(request.segments)
  if (place.kind === 'file' || isOfBuilds(place)) return undefined
  const group = place.folder.join('.')
  const whole = groupName(place)
  const mayAsk = await speakers([whole])
  const plugins = new Map<string, PluginRow>()
  for (const member of members) {
    const { codename } = member.registry
    if (isProxy(member.registry) && !mayAsk(codename, whole)) continue
    const { isMissing, give } = await askMember(answer, plainly(member))
    const isHere = !isMissing || (isProxy(member.registry) && (await hasName?.(member, nameAt(place))) === true)
    const given = isHere ? give() : undefined
    if (given === undefined) continue
    if (given.status !== 200 || given.body?.kind !== 'bytes') return given
    let named: readonly PluginRow[] | undefined
    try {
      named = pluginsIn(given.body.bytes, group)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      return fail('upstream_refused', { path: request.segments.join('/').slice(0, 300), why: error.why }, error)
    }
    // a folder with our plugins in it is that of our group, whatever others call so
    if (named === undefined && plugins.size === 0) return answer(member)
    const speaks = await speakers((named ?? []).map(({ name }) => name))
    for (const one of named ?? [])
      if (speaks(codename, one.name) && !plugins.has(one.prefix)) plugins.set(one.prefix, one)
  }
  const { codename } = request.registry
  if (plugins.size > 0) return list(printListing(undefined, [...plugins.values()]), place.checksum)
  const isReserved = members.some(({ registry }) => isProxy(registry) && !mayAsk(registry.codename, whole))
  return fail(isReserved ? 'group_keeps_name' : 'group_has_not', { name: group, group: codename })
}
