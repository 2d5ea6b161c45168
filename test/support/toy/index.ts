import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { relPath } from '../../../server/core/identity.ts'
import { holds } from '../../../server/core/relation.ts'
import { mainOf } from '../../../server/core/repository.ts'
import type { Format } from '../../../server/formats/format.ts'
import { refuse } from '../../../server/formats/refuse.ts'
import type { Site } from '../../../server/formats/site.ts'
import type { TreeWriter } from '../../../server/formats/tree.ts'
import { malformed } from '../../../server/lib/limited.ts'

const MAGIC = 'TOY 1\n'

/** A package is text: `TOY 1`, a line of name, version (a number) and architecture, then its content. */
export const toyPackage = (name: string, version: string, content: string): Buffer =>
  Buffer.from(`${MAGIC}${name} ${version} any\n${content}`)

function readHeader(text: string): { readonly name: string; readonly version: string; readonly arch: string } {
  const [, name = '', version = '', arch = ''] = /^TOY 1\n([a-z]+) (\d{1,9}) (any)\n/.exec(text) ?? []
  return name === '' ? malformed('its second line must be: name, number, any') : { name, version, arch }
}

const versionKey = (version: string): string => version.padStart(9, '0')
const compareVersions = (a: string, b: string): number => Number(a) - Number(b)

/** `<arch>/INDEX`, one line for each package, and `ROOT`, a signed list of the indexes. */
const tree: TreeWriter = {
  indexes: ({ archs, components }) =>
    archs.map(arch => ({
      id: arch,
      arch,
      component: mainOf({ components }),
      path: relPath(`${arch}/INDEX`),
      kinds: [''],
      addressed: 'path',
      render: ({ name, version, blob }, file) => `${name} ${version} ${blob.sha256} ${file}\n`,
    })),
  contents: () => [],
  fileName: (_distribution, _arch, path) => path,
  async root(files, _distribution, { signer }) {
    const list = files.map(({ path, sha256 }) => `${sha256} ${path}\n`).join('')
    return new Map([[relPath('ROOT'), await signer.clearsign(list)]])
  },
  verifyRoot: async (read, signer) => signer.verifyClearsigned((await read(relPath('ROOT'))).toString()),
}

const site: Site = {
  folder: 'toy',
  root: '/toys/',
  types: [[/\.toy$/, 'application/x-toy']],
  place([first, ...rest], { layout, tree: find }) {
    const at = find(first)
    if (at === undefined || rest.length === 0) return undefined
    return rest.at(-1)?.endsWith('.toy') === true
      ? { paths: [join(layout.publishedFolder(at.distribution.codename), ...rest)], forEver: true }
      : { paths: [join(at.folder, ...rest)], forEver: false }
  },
  generationAddress: ({ codename }, n) => `/toys/${codename}@${n}/`,
}

/** A format that nobody has, as small as one can be. */
export const toy: Format = {
  id: 'toy',
  label: 'toy package (.toy)',
  word: 'toy',
  endings: ['.toy'],
  recognises: head => Buffer.from(head).toString('latin1').startsWith(MAGIC),
  async inspect(file) {
    try {
      const { name, version, arch } = readHeader(await readFile(file.path, 'latin1'))
      return {
        identity: { format: 'toy', name, version, arch },
        about: {
          summary: `The toy ${name}`,
          description: '',
          source: name,
          source_version: version,
          depends: [],
          provides: [],
          conflicts: [],
        },
        facts: {},
        paths: [],
      }
    } catch (error) {
      return refuse(file.filename, error)
    }
  },
  async *inner(file) {
    yield await Promise.resolve({ name: 'content', open: () => createReadStream(file.path) })
  },
  compareVersions,
  versionKey,
  satisfies: (have, need) =>
    have.name === need.name &&
    (need.op === undefined || holds(compareVersions(have.version ?? '0', need.version ?? '0'), need.op)),
  poolName: ({ name, version }) => relPath(`${name}-${version}.toy`),
  archs: { usual: ['wood', 'tin'], neutral: ['any'], known: ['wood', 'tin'] },
  hasComponents: false,
  purl: ({ name, version }) => `pkg:generic/${name}@${version}`,
  installCommand: ({ name }) => `toy install ${name}`,
  complain: () => undefined,
  tree,
  site,
  client: {
    indexKey: 'openpgp',
    setups: ({ codename }, { url }) => {
      const line = `${url}/toys/${codename}/`
      return [
        {
          manager: 'toy',
          line,
          setup: [`toy add ${line}`],
          files: [],
          optional: [],
          check: '',
          docker: { lines: [], secret: null, build: 'docker build .' },
          refresh: 'toy refresh',
        },
      ]
    },
  },
}
