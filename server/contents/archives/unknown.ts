import type { OpenFile, Unpacker } from '../reader.ts'

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
]

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
  wants: file => file.size > 16 && kindOf(file) !== undefined,
  async *files(file) {
    yield { path: file.path, size: file.size, why: `It is ${kindOf(file) ?? 'an archive'}, which is not read.` }
  },
}
