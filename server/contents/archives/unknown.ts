import type { OpenFile, Unpacker } from '../reader.ts'
import { isCompressed } from './compressed.ts'
import { isCpio } from './cpio.ts'
import { isTar } from './tar.ts'

/** Archives and images that nothing here opens, by their first bytes. */
const KINDS: readonly (readonly [name: string, magic: string, at?: number])[] = [
  ['a 7z archive', '7z\xbc\xaf\x27\x1c'],
  ['a RAR archive', 'Rar!\x1a\x07'],
  ['an lz4 stream', '\x04\x22\x4d\x18'],
  ['an lzip stream', 'LZIP'],
  ['an lzop stream', '\x89LZO\x00\x0d\x0a\x1a\x0a'],
  ['a squashfs image', 'hsqs'],
  ['a cabinet', 'MSCF\0\0\0\0'],
  ['a xar archive', 'xar!'],
  ['a qcow image', 'QFI\xfb'],
  ['a VMDK image', 'KDMV'],
  ['a Windows image', 'MSWIM\0\0\0'],
  ['a zpaq archive', 'zPQ'],
  ['an old cpio', '070707'],
  ['an LZH archive', '-lh5-', 2],
  ['a squashfs image', 'sqsh'],
  ['a cramfs image', '\x45\x3d\xcd\x28'],
  ['a UBI image', 'UBI#'],
  ['a romfs image', '-rom1fs-'],
  ['a Vmware or Hyper-V image', 'conectix'],
  ['an Android boot image', 'ANDROID!'],
  ['an encrypted volume', 'LUKS\xba\xbe'],
  ['an encrypted file', 'age-encryption.org/'],
  ['an encrypted file', 'Salted__'],
  ['a cpio of rpm without names', '07070X'],
]
/** Images whose magic lies behind their first bytes, or that have none. */
const NAMES: readonly (readonly [name: string, ending: RegExp])[] = [
  ['a disk image', /\.(?:iso|dmg|vhdx?|vdi)$/i],
  ['an ARJ archive', /\.arj$/i],
  ['an old compress stream', /\.Z$/],
  ['an encrypted archive', /\.(?:tar|tgz|zip|jar|war|ear|deb|rpm|apk)(?:\.\w{2,4})?\.(?:gpg|pgp|age|enc|aes)$/i],
]
/** What only an archive is called; a zip says so itself. */
const ARCHIVE =
  /\.(?:t?gz|taz|t?xz|t?bz2|tbz|t?zst|tar|gem|crate|u?deb|rpm|apk|nupkg|egg|conda|aar|xpi|vsix|7z|cab|cpio|t?lz4|t?lz|lzo)$/i
/** Beginnings of archives that others open, and of programs that may have a zip behind them. */
const OPENED = ['PK', '!<arch>\n', '\xed\xab\xee\xdb', '#!', '\x7fELF', 'MZ', 'Cr24', 'JM']

const begins = (head: Buffer, magic: string): boolean => head.toString('latin1', 0, magic.length) === magic
const isOpened = (file: Pick<OpenFile, 'path' | 'head'>): boolean =>
  isCompressed(file) || isTar(file.head) || isCpio(file.head) || OPENED.some(magic => begins(file.head, magic))

/** Also of office documents, which hold no programs. */
const OLE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'

function kindOf({ path, head }: Pick<OpenFile, 'path' | 'head'>): string | undefined {
  const byMagic = KINDS.find(([, magic, at = 0]) => head.toString('latin1', at, at + magic.length) === magic)
  const isOle = head.toString('latin1', 0, OLE.length) === OLE && /\.(?:msi|msp|msm)$/i.test(path)
  return byMagic?.[0] ?? (isOle ? 'a Windows installer' : NAMES.find(([, ending]) => ending.test(path))?.[0])
}

/** Names what cannot be opened, so that nobody takes it for empty. */
export const unknown: Unpacker = {
  id: 'unknown',
  wants: file => (file.size > 16 && kindOf(file) !== undefined) || (ARCHIVE.test(file.path) && !isOpened(file)),
  async *files(file) {
    const kind = kindOf(file)
    const why = kind === undefined ? 'It is no archive, whatever its name says.' : `It is ${kind}, which is not read.`
    yield { path: file.path, size: file.size, why }
  },
}
