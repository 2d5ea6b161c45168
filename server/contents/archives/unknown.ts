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
  ['a cpio of rpm without names', '07070X'],
]
/** Images whose magic lies behind their first bytes, or that have none. */
const NAMES: readonly (readonly [name: string, ending: RegExp])[] = [
  ['a disk image', /\.(?:iso|dmg|vhdx?|vdi)$/i],
  ['an ARJ archive', /\.arj$/i],
  ['an old compress stream', /\.Z$/],
]

function kindOf({ path, head }: Pick<OpenFile, 'path' | 'head'>): string | undefined {
  const byMagic = KINDS.find(([, magic]) => head.toString('latin1', 0, magic.length) === magic)
  return byMagic?.[0] ?? NAMES.find(([, ending]) => ending.test(path))?.[0]
}

/** Names what cannot be opened, so that nobody takes it for empty. */
export const unknown: Unpacker = {
  id: 'unknown',
  wants: file => file.size > 16 && kindOf(file) !== undefined,
  async *files(file) {
    yield { path: file.path, size: file.size, why: `It is ${kindOf(file) ?? 'an archive'}, which is not read.` }
  },
}
