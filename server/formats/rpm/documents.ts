import { relPath } from '../../core/identity.ts'
import { malformed } from '../../lib/limited.ts'
import { joinUpdateinfo } from './updateinfo.ts'
import { checkXml, readYaml, type DocumentKind } from '../documents.ts'

const MODULE_DOCUMENTS = [
  'modulemd',
  'modulemd-defaults',
  'modulemd-obsoletes',
  'modulemd-translations',
  'modulemd-packager',
]

/** Source: https://github.com/fedora-modularity/libmodulemd, yaml_specs */
const modules: DocumentKind = {
  id: 'modules',
  label: 'Module streams',
  file: 'modules.yaml',
  keys: ['arch'],
  without: 'dnf does not install packages that are built for a module.',
  async check(bytes) {
    let streams = 0
    let documents = 0
    for await (const { document, version, data } of readYaml(bytes, 'modules.yaml')) {
      documents += 1
      if (typeof document !== 'string' || !MODULE_DOCUMENTS.includes(document))
        malformed(`document ${documents} of modules.yaml is none of ${MODULE_DOCUMENTS.join(', ')}`)
      if (!Number.isInteger(version) || typeof data !== 'object' || data === null)
        malformed(`document ${documents} of modules.yaml has no version or no data`)
      if (document === 'modulemd') streams += 1
    }
    return documents > 0 ? streams : malformed('modules.yaml holds no document')
  },
  path: ({ arch }) => relPath(`${arch}/repodata/modules.yaml`),
  kinds: ['.gz'],
  addressed: 'name',
}

const group: DocumentKind = {
  id: 'group',
  label: 'Package groups',
  file: 'comps.xml',
  keys: ['arch'],
  without: 'Clients find no package groups here.',
  check: bytes => checkXml(bytes, { what: 'comps.xml', root: 'comps', element: 'group' }),
  path: ({ arch }) => relPath(`${arch}/repodata/comps.xml`),
  kinds: ['', '.gz'],
  addressed: 'name',
}

/** Merged into one file with advisories from vulnerability data: see `rpmTree.advisories`. */
const updateinfo: DocumentKind = {
  id: 'updateinfo',
  label: 'Advisories',
  file: 'updateinfo.xml',
  keys: ['arch'],
  without: 'Clients see only the advisories that come from the vulnerability data.',
  async check(bytes) {
    const shape = { what: 'updateinfo.xml', root: 'updates', element: 'update' }
    const count = await checkXml(bytes, shape)
    // as it is published: a comment around the outermost element could cut it elsewhere
    const joined = await checkXml(Buffer.from(joinUpdateinfo(bytes.toString('utf8'), undefined)), shape).catch(() => -1)
    return joined === count ? count : malformed('updateinfo.xml has comments or blanks in the way of <updates>')
  },
  path: ({ arch }) => relPath(`${arch}/repodata/updateinfo.xml`),
  kinds: [],
  addressed: 'name',
}

/** The kinds of documents that .rpm distributions take. */
export const rpmDocuments: readonly DocumentKind[] = [modules, group, updateinfo]
