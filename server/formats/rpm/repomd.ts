import { SaxesParser } from 'saxes'
import type { ListedFile } from '../tree.ts'
import { escapeAttribute } from './xml.ts'

/** One file that repomd.xml names. `href` is relative to the repository, `type` what clients look for. */
export interface RepomdEntry {
  readonly type: string
  readonly href: string
  readonly file: ListedFile
}

function printData({ type, href, file: { sha256, size, plain } }: RepomdEntry, seconds: number): string {
  const open =
    plain === undefined
      ? ['', '']
      : [
          `\n    <open-checksum type="sha256">${plain.sha256}</open-checksum>`,
          `\n    <open-size>${plain.size}</open-size>`,
        ]
  return `  <data type="${escapeAttribute(type)}">
    <checksum type="sha256">${sha256}</checksum>${open[0]}
    <location href="${escapeAttribute(href)}"/>
    <timestamp>${seconds}</timestamp>
    <size>${size}</size>${open[1]}
  </data>
`
}

/** repomd.xml, which names every index by digest and size. Its revision, and the age of all it names, is `at`. */
export function printRepomd(entries: readonly RepomdEntry[], at: Date): string {
  const seconds = Math.floor(at.getTime() / 1000)
  return `<?xml version="1.0" encoding="UTF-8"?>
<repomd xmlns="http://linux.duke.edu/metadata/repo" xmlns:rpm="http://linux.duke.edu/metadata/rpm">
  <revision>${seconds}</revision>
${entries.map(entry => printData(entry, seconds)).join('')}</repomd>
`
}

/** True when it is a whole XML document whose outermost element is this one. */
export function isWellFormed(document: string, root: string): boolean {
  const parser = new SaxesParser()
  let depth = 0
  let isRoot = false
  let fault: Error | undefined
  parser.on('opentag', tag => {
    if (depth++ === 0) isRoot = tag.name === root
  })
  parser.on('closetag', () => {
    depth--
  })
  parser.on('error', error => {
    fault ??= error
  })
  parser.write(document).close()
  return fault === undefined && isRoot && depth === 0
}
