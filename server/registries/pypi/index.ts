import { BASIC_CHALLENGE } from '../../core/basic-challenge.ts'
import { listBareNames } from '../../catalog/queries/registry.ts'
import { readDocumentMark } from '../../catalog/queries/registry-documents.ts'
import { listFiles } from '../../catalog/queries/registry-files.ts'
import type { Manifest } from '../../core/manifest.ts'
import { isServed } from '../../core/manifest.ts'
import { openWindow } from '../../lib/file-window.ts'
import { normalName, normalVersion, readFileName, type FileName } from '../../formats/pypi/names.ts'
import { pypiClient } from '../../formats/pypi/client.ts'
import { pypi } from '../../formats/pypi/index.ts'
import { openWheel, readInfo } from '../../formats/pypi/wheel.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import { whyHeld } from '../held.ts'
import { answerOf, takesGzip } from '../kept-documents.ts'
import { isProxy } from '../remote/remote.ts'
import { plain } from '../plain.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest, Together } from '../protocol.ts'
import { packageOf } from '../refs.ts'
import { chooseForm } from './accept.ts'
import { describedIn, legacyJson } from './legacy-json.ts'
import { PROVENANCE } from './attestations.ts'
import { projectOf, SHOWN_FACTS, simpleFileOf, type Project, type ShownFacts } from './project.ts'
import { createPypiProxy, isManifest, type KeptPage } from './proxy.ts'
import { namesPage, pageType, projectPage } from './simple.ts'
import { createUpload } from './upload.ts'

const METADATA = '.metadata'
const NAMES_AT_ONCE = 10_000
const TYPES = { '.whl': 'application/zip', '.tar.gz': 'application/gzip' } as const

const moved = (to: string): RegistryAnswer => ({
  status: 301,
  headers: { 'Location': to, 'Cache-Control': 'no-store' },
})

// a shared cache must not answer for callers who see different registries
const HEADERS = { 'Cache-Control': 'private, max-age=0', 'Vary': 'Accept, Accept-Encoding, Authorization' }

const typeOf = (filename: string): string => (filename.endsWith('.whl') ? TYPES['.whl'] : TYPES['.tar.gz'])

/** The name without what stands for a document beside the file. */
const plainFile = (segment: string): string =>
  [METADATA, PROVENANCE].reduce(
    (name, ending) => (name.endsWith(ending) ? name.slice(0, -ending.length) : name),
    segment,
  )

const isListOfNames = ({ segments, endsWithSlash }: RegistryRequest): boolean =>
  endsWithSlash && segments.length === 1 && segments[0] === 'simple'

/** What pip, uv, twine and poetry speak: the simple pages, the legacy upload and the JSON of projects. */
export function createPypi(deps: ProtocolDeps): RegistryProtocol {
  const { db, catalog, layout, kept } = deps
  const upload = createUpload(deps)
  const proxy = createPypiProxy(deps)

  async function projectHere(request: RegistryRequest, name: string): Promise<Project> {
    const of = { ...packageOf(request, name), facts: SHOWN_FACTS }
    return projectOf(name, await listFiles<ShownFacts>(db, request.caller.viewer, of), request.console)
  }

  const findFile = (request: RegistryRequest, name: string, { version, arch }: Pick<FileName, 'version' | 'arch'>) =>
    catalog.findKnown({ ...packageOf(request, name), version: normalVersion(version), arch })

  const notThere = (name: string): RegistryAnswer =>
    plain(404, `There is no project ${name.slice(0, 80)} in this registry.`)

  async function namesBehind(request: RegistryRequest, after: string): Promise<readonly string[]> {
    if (isProxy(request.registry)) return proxy.names(request, after, NAMES_AT_ONCE)
    const { format, codename } = request.registry
    return listBareNames(db, request.caller.viewer, { format, codename, after, most: NAMES_AT_ONCE })
  }

  async function allNames(request: RegistryRequest): Promise<readonly string[]> {
    const all: string[] = []
    for (let after = ''; ;) {
      const page = await namesBehind(request, after)
      all.push(...page)
      if (page.length < NAMES_AT_ONCE) return all
      after = all.at(-1) ?? ''
    }
  }

  /** The names that the members of a group answer for. */
  async function namesTogether({ members, speakers }: Together): Promise<readonly string[]> {
    const all = new Set<string>()
    for (const member of members) {
      const names = await allNames(member)
      const speaks = await speakers(names)
      for (const name of names) if (speaks(member.registry.codename, name)) all.add(name)
    }
    return [...all].sort()
  }

  async function names(request: RegistryRequest, group?: Together): Promise<RegistryAnswer> {
    const form = chooseForm(request.headers.accept)
    if (form === undefined) return notAcceptable()
    const all = await (group === undefined ? allNames(request) : namesTogether(group))
    const bytes = namesPage(all, form)
    return { status: 200, type: pageType(form), headers: HEADERS, body: { kind: 'bytes', bytes }, conditional: true }
  }

  const notAcceptable = (): RegistryAnswer =>
    plain(406, 'The simple pages are there as HTML and as application/vnd.pypi.simple.v1+json.')

  async function project(request: RegistryRequest, name: string): Promise<RegistryAnswer> {
    const form = chooseForm(request.headers.accept)
    if (form === undefined) return notAcceptable()
    const found = isProxy(request.registry) ? await proxy.page(request, name, form) : await page(request, name, form)
    return found === undefined ? notThere(name) : answerOf(found, pageType(form), { ...HEADERS, ...found.headers })
  }

  /** The page of a project here; made again when one of its files changed. */
  async function page(request: RegistryRequest, name: string, form: string): Promise<KeptPage | undefined> {
    const mark = await readDocumentMark(db, request.caller.viewer, packageOf(request, name))
    if (mark === undefined) return undefined
    const key = JSON.stringify([request.registry.codename, name, form, request.console, mark.rows])
    return kept.get(key, takesGzip(request.headers), async () => {
      const { files } = await projectHere(request, name)
      return { texts: projectPage({ name, files: files.map(simpleFileOf) }, form) }
    })
  }

  async function metadataOf({ files: [first] }: Manifest): Promise<Buffer | undefined> {
    const named = readFileName(first.path)
    if (named === undefined || named.arch === 'sdist') return undefined
    const window = await openWindow({ path: layout.blob(first.blob.sha256) })
    try {
      return await readInfo(window, await openWheel(window, named), 'METADATA')
    } finally {
      await window.close()
    }
  }

  async function file(request: RegistryRequest, name: string, segment: string): Promise<RegistryAnswer> {
    const filename = plainFile(segment)
    if (isProxy(request.registry)) {
      const found = await proxy.file(request, name, { filename, segment })
      return isManifest(found) ? send(found, { filename, segment }) : found
    }
    const named = readFileName(filename)
    const manifest = named && (await findFile(request, name, named))
    // other spellings of its name are other files
    if (manifest?.files[0].path !== filename)
      return plain(404, `There is no file ${filename.slice(0, 120)} of ${name.slice(0, 80)} in this registry.`)
    if (!isServed(manifest.state)) {
      const { sentence, short } = whyHeld(manifest, request.console)
      return plain(403, sentence, short)
    }
    return send(manifest, { filename, segment })
  }

  /** A file that is served, or a document beside it. */
  async function send(
    manifest: Manifest,
    { filename, segment }: { readonly filename: string; readonly segment: string },
  ): Promise<RegistryAnswer> {
    const [first] = manifest.files
    if (segment === filename) {
      const { sha256, size } = first.blob
      return { status: 200, type: typeOf(filename), body: { kind: 'blob', sha256, size } }
    }
    if (segment.endsWith(PROVENANCE)) {
      const provenance = manifest.files.find(({ path }) => path === `${first.path}${PROVENANCE}`)
      if (provenance === undefined) return plain(404, `${filename} came without attestations.`)
      const { sha256, size } = provenance.blob
      return { status: 200, type: 'application/vnd.pypi.integrity.v1+json', body: { kind: 'blob', sha256, size } }
    }
    const bytes = await metadataOf(manifest)
    if (bytes === undefined) return plain(404, `${filename} is a source release: no METADATA is beside it.`)
    const headers = { 'Cache-Control': 'private, max-age=31536000, immutable' }
    return {
      status: 200,
      type: 'text/plain; charset=utf-8',
      headers,
      body: { kind: 'bytes', bytes },
      conditional: true,
    }
  }

  async function json(request: RegistryRequest, name: string, version: string | undefined): Promise<RegistryAnswer> {
    if (isProxy(request.registry))
      return plain(404, 'This registry reads through: its projects are told by the simple pages alone.')
    const wanted = version === undefined ? undefined : normalVersion(version)
    const found = await projectHere(request, name)
    const described = describedIn(found, wanted)
    const manifest = described && (await findFile(request, name, described))
    if (described === undefined || manifest === undefined)
      return version === undefined
        ? notThere(name)
        : plain(404, `There is no version ${version.slice(0, 80)} of ${name}.`)
    const answer = legacyJson(found, {
      address: request.address,
      version: wanted,
      described: { file: described, manifest },
    })
    const headers = { 'Cache-Control': 'private, max-age=0', 'Vary': 'Authorization' }
    return { status: 200, headers, body: { kind: 'json', json: answer }, conditional: true }
  }

  async function read(request: RegistryRequest): Promise<RegistryAnswer | undefined> {
    const { segments, endsWithSlash, address } = request
    const [first, name = '', ...rest] = segments
    const normal = normalName(name)
    if (first === 'simple' && segments.length === 1) return endsWithSlash ? names(request) : moved(`${address}/simple/`)
    if (first === 'simple' && segments.length === 2)
      return endsWithSlash && normal === name
        ? project(request, name)
        : moved(`${address}/simple/${encodeURIComponent(normal)}/`)
    if (first === 'files' && segments.length === 3 && rest[0] !== undefined) return file(request, normal, rest[0])
    if (first === pypiClient.root && rest.at(-1) === 'json' && rest.length <= 2)
      return json(request, normal, rest.length === 2 ? rest[0] : undefined)
    return undefined
  }

  return {
    format: pypi.id,
    root: pypiClient.root,
    challenge: () => BASIC_CHALLENGE,
    // simple/<name>/, files/<name>/<file>, pypi/<name>/json
    nameOf: ({ segments: [, name] }) => (name === undefined ? undefined : normalName(name)),
    join: async (request, group) => (isListOfNames(request) ? names(request, group) : undefined),
    hasName: async ({ registry }, name) => (await deps.remote.find(registry, name)) !== undefined,
    async answer(request) {
      const { method, segments } = request
      if (method === 'GET' || method === 'HEAD') return read(request)
      return method === 'POST' && segments.length === 1 && segments[0] === 'legacy' ? upload(request) : undefined
    },
    refuse({ status, code, detail }) {
      if (code === 'duplicate_conflict') return plain(409, detail, `File already exists. ${detail}`)
      return plain(code === 'digest_mismatch' ? 400 : status, detail)
    },
  }
}
