import { describeServed, searchServed, type FoundName } from '../../catalog/queries/registry-documents.ts'
import { isServed } from '../../core/manifest.ts'
import { splitName, versionIn } from '../../formats/npm/name.ts'
import { answerOf, takesGzip } from '../kept-documents.ts'
import type { RegistryAnswer, RegistryRequest, Together } from '../protocol.ts'
import { heldBack, json, noPackage, noVersion, notice, withheld } from './answers.ts'
import { isProxy } from '../remote/remote.ts'
import type { Documents, NpmDeps } from './packument.ts'
import { refOf } from '../refs.ts'

/** The form that leaves out what installing does not need. */
const SHORT_TYPE = 'application/vnd.npm.install-v1+json'
const MOST_FOUND = 250
const FINDS =
  'A search finds what came through registries that read through to others, and nothing else of what those have.'

/** The document about a name: abbreviated where the client asks for that alone, else in full. */
export async function packument(documents: Documents, request: RegistryRequest, name: string): Promise<RegistryAnswer> {
  const { accept = '' } = request.headers
  const isShort = accept.includes(SHORT_TYPE)
  const found = await documents.find(request, name, isShort ? 'short' : 'full', takesGzip(request.headers))
  if (found === undefined) return noPackage(name, request.registry.codename)
  return answerOf(found, isShort ? SHORT_TYPE : 'application/json; charset=utf-8', {
    'Cache-Control': 'private, no-cache',
    'Vary': 'Accept, Accept-Encoding',
    ...found.headers,
  })
}

/** One version, by its number or a tag. */
export async function version(
  documents: Documents,
  request: RegistryRequest,
  { name, wanted }: { readonly name: string; readonly wanted: string },
): Promise<RegistryAnswer> {
  const { codename } = request.registry
  const tags = await documents.tags(request, name)
  if (tags === undefined) return noPackage(name, codename)
  const found = await documents.version(request, name, tags.get(wanted) ?? wanted)
  if (found === undefined) return noVersion(name, wanted, codename)
  if (typeof found !== 'string') return withheld(found)
  return {
    status: 200,
    type: 'application/json; charset=utf-8',
    headers: { 'Cache-Control': 'private, no-cache' },
    body: { kind: 'bytes', bytes: found },
    conditional: true,
  }
}

/** The tags of a name, as `npm dist-tag ls` lists them. */
export async function listTags(documents: Documents, request: RegistryRequest, name: string): Promise<RegistryAnswer> {
  const tags = await documents.tags(request, name)
  return tags === undefined ? noPackage(name, request.registry.codename) : json(Object.fromEntries(tags))
}

/** The bytes of a version, by the name of its file. */
export async function tarball(
  { catalog }: NpmDeps,
  request: RegistryRequest,
  { name, file }: { readonly name: string; readonly file: string },
): Promise<RegistryAnswer> {
  const number = versionIn(name, file)
  const found = number === undefined ? undefined : await catalog.findKnown(refOf(request, name, number))
  if (found === undefined) return noVersion(name, number ?? file, request.registry.codename)
  if (!isServed(found.state)) return heldBack(found, request.console)
  const { sha256, size } = found.files[0].blob
  return { status: 200, type: 'application/octet-stream', body: { kind: 'blob', sha256, size } }
}

const numberIn = (text: string | null, otherwise: number, most: number): number => {
  const value = text === null || !/^\d{1,6}$/.test(text) ? otherwise : Number(text)
  return Math.min(most, value)
}

/** `npm search`: the newest served version of each name that has all the words. */
export async function search(
  { db, clock }: NpmDeps,
  request: RegistryRequest,
  group?: Together,
): Promise<RegistryAnswer> {
  const { registry, caller, query } = request
  const { format } = registry
  const asked = (group?.members ?? [request]).map(member => member.registry)
  const text = (query.get('text') ?? '').slice(0, 200)
  const found = await searchServed(db, caller.viewer, {
    format,
    codenames: asked.map(({ codename }) => codename),
    // `keywords:x` and its kind narrow a search elsewhere; here the word counts
    words: text
      .split(/\s+/)
      .map(word => word.replace(/^(?:keywords|scope|author|maintainer):@?/, ''))
      .filter(Boolean),
  })
  const speaks = await group?.speakers(found.map(({ name }) => name))
  const names = new Map<string, FoundName>()
  for (const one of found)
    if (!names.has(one.name) && speaks?.(one.codename, one.name) !== false) names.set(one.name, one)
  const from = numberIn(query.get('from'), 0, 100_000)
  const size = numberIn(query.get('size'), 20, MOST_FOUND)
  const page = [...names.values()].slice(from, from + size)
  const rows = await describeServed(db, caller.viewer, { format, names: page })
  const objects = rows.map(({ name, version: newest, summary, created_at, homepage, keywords }) => ({
    package: {
      name,
      scope: splitName(name)[0]?.slice(1) ?? 'unscoped',
      version: newest,
      description: summary,
      keywords,
      date: created_at,
      links: homepage === null ? {} : { homepage },
      maintainers: [],
    },
    score: { final: 1, detail: { quality: 1, popularity: 1, maintenance: 1 } },
    searchScore: 1,
  }))
  const headers = asked.some(isProxy) ? notice(FINDS) : {}
  return json({ objects, total: names.size, time: clock.now().toISOString() }, { headers })
}
