import { createHash } from 'node:crypto'
import { relPath } from '../../core/identity.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { decodeText, piecesOf, readYaml, type DocumentKind } from '../documents.ts'
import { parseParagraph, type Paragraph } from './paragraph.ts'

/**
 * The text whose MD5 apt uses: the description as in the control file, after the colon and the blank, and a final line
 * end. Source: apt, debListParser::Description_md5.
 */
function descriptionMd5(paragraph: Paragraph, field: string): string {
  const { first = '', more = [] } = paragraph.get(field) ?? {}
  return createHash('md5')
    .update(`${[first, ...more].join('\n')}\n`)
    .digest('hex')
}

/** Others may have names of one letter, which policy 5.6.7 does not allow and apt reads. */
const NAME = /^[a-z0-9][a-z0-9+.-]*$/

/** Source: https://wiki.debian.org/DebianRepository/Format, "Translation" */
const translation: DocumentKind = {
  id: 'translation',
  label: 'Translated descriptions',
  file: 'i18n/Translation-<language>',
  keys: ['component', 'name'],
  names: {
    label: 'Language',
    pattern: /^[a-z]{2,3}(_[A-Z]{2})?(@[a-z]+)?$/,
    hint: 'a language as apt names it, such as de or pt_BR',
  },
  without: 'Clients with this language see the descriptions as the packages have them.',
  async check(bytes, { name }) {
    let entries = 0
    for (const text of piecesOf(decodeText(bytes, 'the translation'), /\n{2,}/g)) {
      if (text.trim() === '') continue
      entries += 1
      const paragraph = parseParagraph(Buffer.from(`${text.replace(/\n+$/, '')}\n`), `entry ${entries}`)
      const [owner, md5] = ['package', 'description-md5'].map(key => paragraph.get(key)?.first ?? '')
      const field = `description-${name.toLowerCase()}`
      if (owner === '') malformed(`entry ${entries} has no field Package, or it is empty`)
      if (!NAME.test(owner ?? '')) malformed(`entry ${entries} is of ${quote(owner ?? '')}, which names no package`)
      if (!/^[0-9a-f]{32}$/.test(md5 ?? ''))
        malformed(`entry ${entries}, of ${owner}, has no Description-md5 of 32 lower-case hexadecimal digits`)
      if (!paragraph.has(field)) malformed(`entry ${entries}, of ${owner}, has no field Description-${name}`)
      if (name === 'en' && md5 !== descriptionMd5(paragraph, field))
        malformed(
          `entry ${entries}, of ${owner}, has the Description-md5 ${md5}, apt computes ${descriptionMd5(paragraph, field)}`,
        )
      if (entries % 2000 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    return entries > 0 ? entries : malformed('the translation holds no entry')
  },
  path: ({ component, name }) => relPath(`${component}/i18n/Translation-${name}`),
  kinds: ['', '.gz', '.xz'],
  addressed: 'by-hash',
}

/** Source: https://www.freedesktop.org/software/appstream/docs/sect-AppStream-YAML.html */
const appstream: DocumentKind = {
  id: 'appstream',
  label: 'Software components (AppStream)',
  file: 'dep11/Components-<architecture>.yml',
  keys: ['component', 'arch'],
  without: 'Software centres do not list what it describes.',
  async check(bytes) {
    let documents = 0
    for await (const one of readYaml(bytes, 'the components')) {
      if (documents === 0 && (one.File !== 'DEP-11' || one.Version === undefined))
        malformed('the components do not begin with a header that says File: DEP-11 and a Version')
      if (documents > 0 && (typeof one.Type !== 'string' || typeof one.ID !== 'string'))
        malformed(`component ${documents} has no Type or no ID`)
      documents += 1
    }
    return documents > 0 ? documents - 1 : malformed('the components are empty')
  },
  path: ({ component, arch }) => relPath(`${component}/dep11/Components-${arch}.yml`),
  kinds: ['', '.gz', '.xz'],
  addressed: 'by-hash',
}

const icons: DocumentKind = {
  id: 'icons',
  label: 'Icons of software components',
  file: 'dep11/icons-<size>.tar.gz',
  keys: ['component', 'name'],
  names: {
    label: 'Size',
    pattern: /^(48x48|64x64|128x128)(@2)?$/,
    hint: '48x48, 64x64 or 128x128, perhaps with @2',
  },
  without: 'Software centres have no icons of this size.',
  check: bytes =>
    Promise.resolve(
      bytes[0] === 0x1f && bytes[1] === 0x8b
        ? 1
        : malformed(`the icons begin with ${quote(bytes.toString('latin1', 0, 4))}; a .tar.gz is needed`),
    ),
  path: ({ component, name }) => relPath(`${component}/dep11/icons-${name}.tar.gz`),
  kinds: [''],
  addressed: 'by-hash',
}

/** The kinds of documents that .deb distributions take. */
export const debDocuments: readonly DocumentKind[] = [translation, appstream, icons]
