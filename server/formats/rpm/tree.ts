import { basename } from 'node:path'
import type { Distribution } from '../../core/repository.ts'
import { relPath, type RelPath } from '../../core/identity.ts'
import { CARRIED, type IndexPlan, type ListedFile, type TreeWriter } from '../tree.ts'
import { isWellFormed, printRepomd, type RepomdEntry } from './repomd.ts'
import { reposOf } from './kind.ts'
import { rpmDocuments } from './documents.ts'
import { advisoryOf, idsOf, joinUpdateinfo, printUpdateinfo } from './updateinfo.ts'
import { renderFilelists, renderOther, renderPrimary } from './xml.ts'

const PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'
const COMMON = 'http://linux.duke.edu/metadata'

const INDEXES: readonly (Pick<IndexPlan, 'render'> & {
  readonly name: string
  readonly open: (entries: number) => string
  readonly close: string
})[] = [
  {
    name: 'primary',
    render: renderPrimary,
    close: '</metadata>\n',
    open: entries => `<metadata xmlns="${COMMON}/common" xmlns:rpm="${COMMON}/rpm" packages="${entries}">\n`,
  },
  {
    name: 'filelists',
    render: renderFilelists,
    close: '</filelists>\n',
    open: entries => `<filelists xmlns="${COMMON}/filelists" packages="${entries}">\n`,
  },
  {
    name: 'other',
    render: renderOther,
    close: '</otherdata>\n',
    open: entries => `<otherdata xmlns="${COMMON}/other" packages="${entries}">\n`,
  },
]

/**
 * What repomd.xml calls a file. The gzip form has the name that every client and createrepo_c look for; several entries
 * of one name make dnf 4 fail with a checksum mismatch. Generations of release 0.1 also have a zstd form, which no
 * client reads: dnf ignores a name it does not know, libzypp one that ends in `_db`.
 */
function typeOf(path: string): string {
  if (path.endsWith('-comps.xml')) return 'group'
  if (path.endsWith('-comps.xml.gz')) return 'group_gz'
  const [, name = '', ending = ''] = /-(\w+)\.(?:xml|yaml)\.(\w+)$/.exec(path) ?? []
  return ending === 'gz' ? name : `${name}_${ending}_db`
}

const ORDER = INDEXES.map(index => index.name)
const rank = ({ type }: RepomdEntry): number =>
  type.endsWith('_db') ? ORDER.length + 1 : ORDER.indexOf(type) < 0 ? ORDER.length : ORDER.indexOf(type)

/** The files of one repository, those that clients fetch first in front. */
function entriesOf(files: readonly ListedFile[], folder: string): RepomdEntry[] {
  return files
    .filter(file => file.path.startsWith(`${folder}/repodata/`))
    .map(file => ({ type: typeOf(file.path), href: `repodata/${basename(file.path)}`, file }))
    .sort((a, b) => rank(a) - rank(b))
}

const repomd = (folder: string): RelPath => relPath(`${folder}/repodata/repomd.xml`)
const beside = (folder: string, ending: string): RelPath => relPath(`${folder}/repodata/repomd.xml.${ending}`)

/**
 * The rpm-md tree: primary, filelists, other and what is known of fixes, for each architecture, and the signed
 * repomd.xml that names them.
 */
export const rpmTree: TreeWriter = {
  indexes: distribution =>
    reposOf(distribution).flatMap(({ folder, arch, kind }) =>
      INDEXES.map(({ name, render, open, close }): IndexPlan => ({
        id: `${folder}/${name}`,
        arch,
        component: 'main',
        ...(kind === 'binary' ? {} : { kind }),
        path: relPath(`${folder}/repodata/${name}.xml`),
        kinds: ['.gz'],
        addressed: 'name',
        render,
        frame: entries => ({ head: `${PROLOGUE}${open(entries)}`, tail: close }),
      })),
    ),
  contents: () => [],
  documents: rpmDocuments,
  advisories: ({ archs, neutral, codename: collection }) =>
    archs.map(arch => ({
      path: relPath(`${arch}/repodata/updateinfo.xml`),
      takes: { kind: 'updateinfo', arch },
      render: (advisories, put) => {
        const others = idsOf(put ?? '')
        const own = printUpdateinfo(advisories.filter(({ id }) => !others.has(id)).map(advisoryOf), {
          collection,
          isOffered: one => one.arch === arch || neutral.includes(one.arch),
        })
        return put === undefined ? own : joinUpdateinfo(put, own)
      },
    })),
  fileName: (_distribution, _arch, path) => `Packages/${path}`,
  async root(files, distribution, { signer, at, isSame }) {
    const key = signer.publicKey('armored')
    const made = new Map<RelPath, string | Buffer | typeof CARRIED>()
    for (const { folder } of reposOf(distribution)) {
      if (isSame(files.filter(file => file.path.startsWith(`${folder}/repodata/`)))) {
        for (const path of [repomd(folder), beside(folder, 'asc'), beside(folder, 'key')]) made.set(path, CARRIED)
        continue
      }
      const document = printRepomd(entriesOf(files, folder), at)
      made
        .set(repomd(folder), document)
        .set(beside(folder, 'asc'), await signer.detach(Buffer.from(document)))
        .set(beside(folder, 'key'), key)
    }
    return made
  },
  async verifyRoot(read, signer, distribution: Distribution, carried = new Set()) {
    for (const { folder } of reposOf(distribution)) {
      if (carried.has(repomd(folder))) continue
      const [document, signature] = await Promise.all([read(repomd(folder)), read(beside(folder, 'asc'))])
      if (
        !isWellFormed(document.toString(), 'repomd') ||
        !(await signer.verifyDetached(document, signature.toString()))
      )
        return false
    }
    return true
  },
}
