import { malformed } from '../../lib/limited.ts'
import { sectionOf, type Image } from '../binary/image.ts'
import { mayBeImage, openImages } from '../binary/images.ts'
import type { Found, Reader, Unopened } from '../reader.ts'
import { isNamed, MOST_ROWS } from '../text-file.ts'
import { NOT_RELEASED } from '../unasked.ts'
import { findBuildInfo, type BuildInfo } from './find-build-info.ts'
import { moduleFound, resolved } from './module-found.ts'
import { wasmBuildInfo } from './wasm-build-info.ts'

const SHIPPED = { presence: 'shipped', rule: 'go-buildinfo' } as const

const NAMELESS = 'It is a program in Go that does not name the modules it was built from.'
// sections that only the linker of Go makes
const MARKS = ['.gopclntab', '.note.go.buildid', '__gopclntab']

/** `go1.22rc1` as advisories write it: `1.22.0-rc.1`. */
function releaseOf(goVersion: string): string | undefined {
  const [, number = '', label = '', count = ''] =
    /^go(\d+(?:\.\d+){1,2})(?:(rc|beta)(\d+))?(?![\w.])(?!-devel)/.exec(goVersion) ?? []
  if (number === '') return undefined
  return label === '' ? number : `${number}${number.split('.').length === 2 ? '.0' : ''}-${label}.${count}`
}

/**
 * The standard library. Red Hat and others fix it without a new number: what is found out about it is not certain.
 * Source: go.dev/doc/devel/release
 */
const stdlibFound = (goVersion: string): Found =>
  moduleFound('stdlib', releaseOf(goVersion), {
    ...SHIPPED,
    ...(/^go\S+ \(|^go[\d.]+-/.test(goVersion) ? { confidence: 'probable' } : {}),
  })

// go.dev/ref/mod, "Pseudo-versions"
const PSEUDO = /^v\d+\.(?:0\.0-|\d+\.\d+-(?:[^+]*\.)?0\.)\d{14}-[A-Za-z0-9]+(?:\+.*)?$/
const RELEASE = /^v?\d+\.\d+(?:\.\d+)?(?:-(?:rc|alpha|beta)[.\d]*)?$/

/** The version that the build command sets in the program: `-ldflags=-X main.version=1.2.3`. */
function setVersion(flags: string, main: string): string | undefined {
  const settings = flags.replaceAll('\\"', '"').matchAll(/-X[ =]["']?([^\s="']+)\.(\w*[vV]ersion)=([^\s"']+)/g)
  for (const [, owner = '', , value = ''] of settings)
    if ((owner === 'main' || owner === main || owner.startsWith(`${main}/`)) && RELEASE.test(value))
      return value.startsWith('v') ? value : `v${value}`
  return undefined
}

function mainFound(path: string, version: string, flags: string): Found {
  if (version.startsWith('v') && !PSEUDO.test(version)) return moduleFound(path, version, SHIPPED)
  const set = setVersion(flags, path)
  return set === undefined
    ? moduleFound(path, version.startsWith('v') ? version : undefined, { ...SHIPPED, unasked: NOT_RELEASED })
    : moduleFound(path, set, { ...SHIPPED, confidence: 'probable' })
}

/** The modules that the text names, each as it is replaced. @throws Malformed for more than 50,000 */
function modulesIn(text: string): Found[] {
  const modules: { readonly verb: string; readonly path: string; readonly version: string; other?: string[] }[] = []
  let flags = ''
  for (const line of text.split('\n')) {
    const [verb = '', path = '', version = ''] = line.split('\t')
    if (verb === 'mod' || verb === 'dep') modules.push({ verb, path, version })
    const last = modules.at(-1)
    if (verb === '=>' && last !== undefined) last.other = version.startsWith('v') ? [path, version] : [path]
    if (verb === 'build' && path.startsWith('-ldflags=')) flags = path
    if (modules.length > MOST_ROWS) malformed(`it names more than ${MOST_ROWS} modules`)
  }
  return modules.map(({ verb, path, version, other }) => {
    if (verb === 'mod' && other === undefined) return mainFound(path, version, flags)
    const one = resolved([path, version], other ?? [], SHIPPED)
    return one.version?.startsWith('v') === true ? one : { ...one, version: undefined }
  })
}

/** The package that was built; undefined for a tool of Go itself and for single files, which are in no module. */
function programIn(modules: string): string | undefined {
  const [, path] = /^path\t([^\t\n]+)$/m.exec(modules) ?? []
  return path === 'command-line-arguments' || path?.startsWith('cmd/') === true ? undefined : path
}

const isMade = (image: Image): boolean => MARKS.some(mark => sectionOf(image, mark) !== undefined)

function foundIn({ goVersion, modules }: BuildInfo): { readonly found: Found[]; readonly isNameless: boolean } {
  const named = modulesIn(modules)
  const program = programIn(modules)
  const own =
    named.length > 0 || program === undefined
      ? []
      : [moduleFound(program, undefined, { ...SHIPPED, unasked: NOT_RELEASED })]
  return {
    found: [stdlibFound(goVersion), ...own, ...named].filter(isNamed),
    isNameless: named.length === 0 && (program !== undefined || modules === ''),
  }
}

/** Programs in Go: its release, and the modules that the linker noted. Source: `go help buildinfo`, go version -m */
export const goBuildInfo: Reader = {
  id: 'go-buildinfo',
  wants: mayBeImage,
  async read(file) {
    const found: Found[] = []
    const unopened = new Map<string, Unopened>()
    for (const image of await openImages(file)) {
      const info = await (image.format === 'wasm' ? wasmBuildInfo(image) : findBuildInfo(image))
      const { found: inImage, isNameless } =
        info === undefined ? { found: [], isNameless: isMade(image) } : foundIn(info)
      found.push(...inImage)
      if (isNameless) unopened.set(NAMELESS, { path: file.path, size: file.size, why: NAMELESS })
    }
    return { found, ...(unopened.size === 0 ? {} : { unopened: [...unopened.values()] }) }
  },
}
