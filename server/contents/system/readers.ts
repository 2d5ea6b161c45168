import type { Found, Reader } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'

/*
 * Packages of the system in a container image: what dpkg and apk write down of what they installed. Only in layers, at
 * the places where the tools keep it; a package that carries such a file has it for another reason.
 */

/** The part of a path behind the layer of an image, or undefined for what is in none. */
export const inLayer = (path: string): string | undefined => /^layer-\d+-[^!/]*!\/([^!]*)$/.exec(path)?.[1]

const isAt =
  (places: RegExp) =>
  (path: string): boolean =>
    places.test(inLayer(path) ?? '')

/** The rule of the row that says which system it is. */
export const OS_RELEASE = 'os-release'
/** What databases of packages are not read here. */
const MOST = 64 * 2 ** 20

/** Fields of one stanza, by their names; a field of several lines has its first. */
function* stanzasOf(text: string, field: RegExp): Generator<ReadonlyMap<string, string>> {
  let fields = new Map<string, string>()
  for (const line of linesOf(text)) {
    if (line === '') {
      if (fields.size > 0) yield fields
      fields = new Map()
      continue
    }
    const [, name, value = ''] = field.exec(line) ?? []
    if (name !== undefined && !fields.has(name)) fields.set(name, value)
  }
  if (fields.size > 0) yield fields
}

const SHIPPED = { presence: 'shipped', confidence: 'certain' } as const

/** Source: deb-control(5), dpkg-query(1); distroless images have a file for each package */
const dpkgStatus = textReader({
  id: 'dpkg-status',
  path: isAt(/^var\/lib\/dpkg\/status(?:\.d\/[^/]+)?$/),
  most: MOST,
  *read(text): Generator<Found> {
    for (const fields of stanzasOf(text, /^([A-Za-z][\w-]*):\s*(.*)$/)) {
      const [name, version, status = 'install ok installed'] = ['Package', 'Version', 'Status'].map(key =>
        fields.get(key),
      )
      if (name === undefined || version === undefined || !status.endsWith(' installed')) continue
      const [, source = name, sourceVersion = version] =
        /^(\S+)(?:\s+\(([^)]+)\))?/.exec(fields.get('Source') ?? '') ?? []
      const arch = fields.get('Architecture')
      yield {
        type: 'deb',
        name,
        version,
        qualifiers: { ...(arch === undefined ? {} : { arch }), upstream: `${source}@${sourceVersion}` },
        rule: 'dpkg-status',
        ...SHIPPED,
      }
    }
  },
})

/** Source: https://wiki.alpinelinux.org/wiki/Apk_spec, "Installed Database V2" */
const apkInstalled = textReader({
  id: 'apk-installed',
  path: isAt(/^(?:usr\/)?lib\/apk\/db\/installed$/),
  most: MOST,
  *read(text): Generator<Found> {
    for (const fields of stanzasOf(text, /^([A-Za-z]):(.*)$/)) {
      const [name, version, arch, source] = ['P', 'V', 'A', 'o'].map(key => fields.get(key))
      if (name === undefined || version === undefined) continue
      yield {
        type: 'apk',
        name,
        version,
        qualifiers: { ...(arch === undefined ? {} : { arch }), upstream: `${source ?? name}@${version}` },
        rule: 'apk-installed',
        ...SHIPPED,
      }
    }
  },
})

/** Which system it is. Source: os-release(5) */
const osRelease = textReader({
  id: OS_RELEASE,
  path: isAt(/^(?:etc|usr\/lib)\/os-release$/),
  *read(text): Generator<Found> {
    const fields = new Map(
      [...linesOf(text)].flatMap((line): [string, string][] => {
        const [, name, , value] = /^([A-Z_]+)=(["']?)(.*)\2$/.exec(line) ?? []
        return name === undefined || value === undefined ? [] : [[name, value]]
      }),
    )
    const id = fields.get('ID')
    if (id === undefined) return
    yield {
      type: 'generic',
      namespace: 'os',
      name: id,
      version: fields.get('VERSION_ID') ?? 'rolling',
      rule: OS_RELEASE,
      unasked: 'It names the system; the packages of that are looked up.',
      ...SHIPPED,
    }
  },
})

const RPM = isAt(/^(?:var\/lib|usr\/lib\/sysimage|usr\/share)\/rpm\/(?:rpmdb\.sqlite|Packages(?:\.db)?)$/)

/** What rpm keeps is named as not read, so that nobody takes silence for an answer. */
const rpmDatabase: Reader = {
  id: 'rpm-database',
  wants: ({ path }) => RPM(path),
  read: async ({ path, size }) => ({
    found: [],
    unopened: [{ path, size, why: 'The database of rpm is not read here, so the packages in it were not looked up.' }],
  }),
}

/** Packages of the system in layers of an image, and which system it is. */
export const systemReaders: readonly Reader[] = [dpkgStatus, apkInstalled, osRelease, rpmDatabase]
